"""When messages are in a recording, and what films show of it: places between samples, pictures, cameras, marks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from record_tape import STEPS, make_tape, messages_in

from fleet_sim.apps.record.film import PlaybackWorld, aim_of, marks_of_paths, marks_of_plans, moments_of_run, times_of
from fleet_sim.apps.record.recording import Recording
from fleet_sim.warehouse.sites.drawing import FloorPlan
from fleet_sim.warehouse.sites.site import Door, Station, StationKind, Zone, ZoneKind
from fleet_sim.world.snapshot import PathsAhead

DT, EVERY = 0.05, 4
"""A sample is taken at each fourth step."""
BOX = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}
SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "timestep": DT, "target_rtf": 0},
    "robots": [
        {"name": "cart", "pose": [1.2, -0.7, 0.3, 2.6], "shape": BOX, "motion_mode": "omnidirectional"},
        {"name": "arm", "urdf_path": "arm6", "pose": [5.0, 1.0, 0.0, 0.7], "use_fixed_base": True},
    ],
}


def quaternion(pose: fs.Pose) -> Any:
    return np.array(pose.orientation)


@holds(
    "record:playback",
    fault="apps/record/film.py: the sample after counts by the share that is left; signs of quaternions are kept",
)
def test_between_two_samples_everything_is_on_a_straight_line(tmp_path: Path) -> None:
    path, truth = tmp_path / "run.mcap", []
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim, sim.record(path, rate=1.0 / (EVERY * DT)):
        cart, arm = sim.get_object("cart"), sim.get_object("arm")
        # Through pi, where the signs of quaternions change.
        cart.set_velocity(0.7, -0.4, 0.0, 0.0, 0.0, 1.3)
        arm.set_all_joints_targets({"joint_1": 0.9, "joint_2": -0.4})
        for step in range(24):
            truth.append((cart.get_pose(), arm.joint_positions.copy()))
            if step == 14:
                sim.spawn(fs.SimObjectSpawnParams(name="late", initial_pose=fs.Pose((8.0, 4.0, 0.5))))
            if step == 8:
                cart.set_color((0.9, 0.1, 0.3, 1.0))
            sim.step_once()
        truth.append((cart.get_pose(), arm.joint_positions.copy()))
    with Recording(path) as recording, PlaybackWorld(recording) as stage:
        assert recording.times == pytest.approx(np.arange(7) * EVERY * DT)
        for time in (-1.0, 0.0, 0.03, 0.11, 0.2, 0.37, 0.55, 0.7, 0.93, 1.13, 1.2, 9.0, 0.31):
            sim = stage.show(time)
            sample = min(max(time, 0.0), 24 * DT) / (EVERY * DT)
            before = min(int(sample + 1e-9), 5)
            share = sample - before
            # "late" is spawned between samples 3 and 4: until then what was before is shown.
            if before == 3:
                share = 0.0
            (one, joints), (other, others) = truth[EVERY * before], truth[EVERY * (before + 1)]
            shown = sim.get_object("cart").get_pose()
            straight = (1.0 - share) * np.array(one.position) + share * np.array(other.position)
            assert shown.position == pytest.approx(straight, abs=1e-9), time
            first, second = quaternion(one), quaternion(other)
            mean = (1.0 - share) * first + share * (second if first @ second > 0.0 else -second)
            assert abs(float(quaternion(shown) @ mean)) / np.linalg.norm(mean) == pytest.approx(1.0, abs=1e-12)
            told = sim.get_object("arm").joint_positions
            assert told == pytest.approx((1.0 - share) * joints + share * others, abs=1e-9), time
            assert ("late" in [one.name for one in sim.sim_objects]) is (before >= 4)
            # Painted after the sample of step 8; before, and again before, it has no color of its own.
            painted = sim.get_object("cart").get_color()
            assert painted == pytest.approx((0.9, 0.1, 0.3, 1.0) if before >= 3 else (0.8, 0.8, 0.8, 1.0)), time
        assert np.ptp([float(pose.yaw) for pose, _ in truth]) > 3.0, "it has turned through pi"


@holds(
    "api:Recording.snapshot_at", fault="apps/record/recording.py: a path is read with y in place of x; blockers are not"
)
def test_our_reader_tells_of_each_moment_what_was_so(tmp_path: Path) -> None:
    tape, flags = make_tape(tmp_path / "run.mcap"), set()
    with Recording(tmp_path / "run.mcap") as recording:
        assert recording.times == pytest.approx(np.arange(STEPS + 1) * DT) and recording.whole
        for index in (7, 95, 24, STEPS, 0, 61, 38):
            now, looked = tape.world[index], tape.world[index - index % 10]["robots"]
            shown = recording.snapshot_at(now["time"] + 0.4 * DT)
            assert (shown.tick, shown.time) == (index, pytest.approx(now["time"]))
            assert {name for name, own in zip(shown.names, shown.agent_mask, strict=True) if own} == set(now["robots"])
            for name, pose in now["poses"].items():
                at = shown.index_of(name)
                assert shown.positions[at] == pytest.approx(np.array(pose.position), abs=1e-12)
                assert abs(shown.orientations[at] @ quaternion(pose)) == pytest.approx(1.0, abs=1e-12)
                painted = now["colors"][name] != tape.world[0]["colors"][name]
                assert shown.colors[at].tolist() == (list(now["colors"][name]) if painted else [-1.0] * 4)
            for name, robot in now["robots"].items():
                at = shown.index_of(name)
                assert shown.velocities[at] == pytest.approx(np.array(robot["linear"]), abs=2e-6)
                assert shown.angular_velocities[at] == pytest.approx((0.0, 0.0, robot["turning"]), abs=2e-6)
                flags |= {("carrying", at in shown.carriers), ("blocked", shown.blockers[at] >= 0)}
                assert ((at in shown.carriers), bool(shown.blockers[at] >= 0)) == (robot["carrying"], robot["blocked"])
                assert bool(shown.busy_mask[at]) is robot["busy"]
                assert ("idle", "velocity", "pose")[shown.modes[at]] == robot["mode"]
                own = slice(*shown.path_starts[at : at + 2])
                for points, part in ((shown.path_positions, "position"), (shown.path_orientations, "orientation")):
                    ahead = [getattr(pose, part) for pose in looked[name]["path"] or ()]
                    assert points[own] == pytest.approx(np.reshape(ahead, points[own].shape)), (name, index)
                flags.add(("path", own.start < own.stop))
            for name, joints in now["joints"].items():
                model = shown.bodies.models[shown.index_of(name)]
                assert model is not None
                told = np.array([joints[joint] for joint in model.movable_names]).T
                assert np.array(shown.joints_of(shown.index_of(name))) == pytest.approx(told)
            met = [
                frozenset(pair) for kind, pair, time in tape.pairs if kind == "started" and time < now["time"] + 1e-9
            ]
            gone = [frozenset(pair) for kind, pair, time in tape.pairs if kind == "ended" and time < now["time"] + 1e-9]
            touching = [frozenset(shown.names[each] for each in pair) for pair in shown.collisions]
            assert sorted(map(sorted, [*touching, *gone])) == sorted(map(sorted, met))
            flags.add(("touching", bool(touching)))
    assert flags == {(what, so) for what in ("carrying", "blocked", "path", "touching") for so in (False, True)}


@holds(
    "record:times",
    fault="apps/record/samples.py: all is written again in each sample; topics.py: a path that ended is not said to",
)
def test_what_stands_is_written_when_it_changes_and_every_ten_seconds(tmp_path: Path) -> None:
    path, steps, crawl = tmp_path / "run.mcap", 430, {"type": "omni", "max_linear_vel": 0.05}
    robots = [
        {"name": name, "pose": [x, 5.3, 0.1], "shape": BOX, "controller": crawl}
        for x, name in enumerate(("slow", "two words", "gone"))
    ]
    things = [
        {"name": name, "pose": [x, -3.0, 0.1, 0.7], "shape": BOX} for x, name in ((0.1, "a"), (0.4, "b"), (9.0, "c"))
    ]
    settings = {**SCENARIO["simulation"], "ignore_static_collision": False}
    scenario = {"simulation": settings, "robots": robots, "objects": things}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        slow, words, gone = sim.agents
        for agent in (slow, words, gone):
            agent.set_path([fs.Pose((9.0, agent.position[1] + 7.0, 0.1)), fs.Pose((4.0, 13.7, 0.1))])
        with sim.record(path, rate=None):
            for step in range(1, steps + 1):
                if step == 83:
                    sim.spawn(fs.SimObjectSpawnParams(name="late", initial_pose=fs.Pose((8.0, 4.0, 0.5))))
                if step == 154:
                    sim.get_object("c").set_color((0.9, 0.1, 0.3, 1.0))
                if step == 247:
                    sim.get_object("c").set_pose(fs.Pose.from_yaw(7.3, -2.2, 0.1, 1.9))
                if step == 291:
                    sim.remove_object(gone)
                if step == 402:
                    slow.stop()
                sim.step_once()
    found, _ = messages_in(path)
    times = {topic: [round(time / DT) for time, _ in messages] for topic, messages in found.items()}
    objects: dict[str, list[int]] = {}
    for time, message in found["/tf"]:
        for transform in message.transforms:
            objects.setdefault(transform.child_frame_id, []).append(round(time / DT))
    assert objects["slow/base_link"] == list(range(steps + 1))
    # What is spawned or removed is reason enough to say all again.
    often = [0, 83, 200, 291, 400]
    assert objects["a"] == often and objects["late"] == often[1:] and objects["c"] == sorted([*often, 247])
    assert times["/tf_static"] == often and times["/fleet/markers"] == sorted([*often, 154])
    # They are looked for in a step first.
    assert times["/fleet/collisions"] == [0, 1, 200, 400]
    assert [len(message.active) for _, message in found["/fleet/collisions"]] == [0, 1, 1, 1]
    # Plans are looked at twice a second, and all of them where something was spawned or removed.
    looks = [*range(0, 83, 10), *range(83, 291, 10), *range(291, steps, 10)]
    begun, ends = (
        [0, *(next(step for step in looks if step >= least) for least in (200,))],
        next(s for s in looks if s >= 402),
    )
    assert times["/gone/plan"] == [*begun, 291] and not found["/gone/plan"][-1][1].poses
    begun.append(next(step for step in looks if step >= begun[-1] + 200) if begun[-1] + 200 < ends else ends)
    assert times["/slow/plan"] == sorted({*begun, ends}) and not found["/slow/plan"][-1][1].poses
    assert "/two words/plan" not in times and not any("two" in topic for topic in times)


def test_a_film_has_a_picture_at_each_moment_of_its_time() -> None:
    # 3.3 s of simulated time, at twice the speed, at 4 pictures in a second of the film.
    assert times_of(1.5, 3.3, 2.0, 4.0) == pytest.approx([1.5, 2.0, 2.5, 3.0, 3.5, 4.0])
    assert times_of(0.3, 0.7, 1.0, 10.0) == pytest.approx([0.3 + 0.1 * number for number in range(7)])
    assert times_of(2.0, 0.0, 1.0, 30.0) == [2.0]
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        moments = moments_of_run(sim, [0.0, 0.12, 0.3])
        # As many steps as reach the time of the picture.
        assert [round(next(moments).sim.sim_time / DT) for _ in range(3)] == [0, 3, 6]


def test_cameras_follow_go_around_and_stay() -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        cart = sim.get_object("cart")
        # The box of a box that is turned by 2.6 rad.
        c, s = abs(math.cos(2.6)), abs(math.sin(2.6))
        sides = np.array([2 * (0.3 * c + 0.2 * s), 2 * (0.3 * s + 0.2 * c), 0.2])
        view = aim_of("follow:cart", 640, 360)(sim, 5.0)
        assert (view.yaw, view.pitch) == (30.0, -28.0)
        assert view.target == pytest.approx((1.2, -0.7, 0.3), abs=1e-6)
        assert view.distance == pytest.approx(max(9.0 * float(np.linalg.norm(sides)), 3.0), rel=1e-5)
        orbit, top = aim_of("orbit", 640, 360), aim_of("top", 640, 360)
        first, still = orbit(sim, 0.0), top(sim, 0.0)
        assert math.remainder(orbit(sim, 2.5).yaw - first.yaw - 30.0, 360.0) == pytest.approx(0.0, abs=1e-9)
        assert math.remainder(orbit(sim, 40.0).yaw - first.yaw - 480.0, 360.0) == pytest.approx(0.0, abs=1e-9)
        assert (orbit(sim, 7.0).distance, orbit(sim, 7.0).target) == (first.distance, first.target)
        # A camera that stands does so until somebody leaves what it frames.
        assert top(sim, 1.0) == still
        cart.set_pose(fs.Pose((80.0, 0.0, 0.3)))
        farther = top(sim, 1.5)
        assert farther.distance > 2.0 * still.distance and top(sim, 2.0) == farther
        assert aim_of("follow:cart", 64, 64)(sim, 0.0).target == pytest.approx((80.0, 0.0, 0.3), abs=1e-6)


def test_marks_are_on_their_floor_where_the_plan_has_them() -> None:
    corners = ((0.4, 0.3), (2.6, 1.1), (1.2, 2.9))
    plan = FloorPlan(
        0.8,
        (Station("in", StationKind.PICK, 3.1, -1.7, 0.6), Station("out", StationKind.DROP, -2.2, 0.9, -1.1)),
        (Zone("wet", ZoneKind.NO_GO, corners),),
        (Door(name="gate", kind="", begin=(5.1, 2.2), end=(6.0, 3.9)),),
        height=4.0,
    )
    marks = marks_of_plans([plan])
    lengths = 2.0 * marks.half_extents
    found = sorted(zip(marks.positions.tolist(), marks.yaws.tolist(), lengths.tolist(), strict=True), key=str)
    expected: list[tuple[list[float], float, list[float]]] = []
    # Edges of zones and doors are strips that are half their width longer at each end.
    for (x, y), (u, v), width in [
        *((corners[i], corners[(i + 1) % 3], 0.08) for i in range(3)),
        ((5.1, 2.2), (6.0, 3.9), 0.1),
    ]:
        size = [math.hypot(u - x, v - y) + width, width, 0.008]
        expected.append(([(x + u) / 2, (y + v) / 2, 4.008], math.atan2(v - y, u - x), size))
    # Stations fill nine tenths of a cell.
    expected += [([x, y, 4.016], yaw, [0.72, 0.72, 0.008]) for x, y, yaw in ((3.1, -1.7, 0.6), (-2.2, 0.9, -1.1))]
    assert len(found) == len(expected)
    for (place, yaw, size), (at, angle, wanted) in zip(found, sorted(expected, key=str), strict=True):
        assert place == pytest.approx(at) and yaw == pytest.approx(angle) and size == pytest.approx(wanted)
    lines = np.array([[[0.2, 0.3, 0.0], [1.4, -0.5, 0.0]]])
    for distance, width in ((10.0, 0.05), (40.0, 0.12)):
        paths = marks_of_paths(PathsAhead(lines, np.array([0])), distance)
        assert paths.positions[0] == pytest.approx([0.8, -0.1, 0.03])
        assert 2.0 * paths.half_extents[0] == pytest.approx([math.hypot(1.2, 0.8) + width, width, 0.008])
