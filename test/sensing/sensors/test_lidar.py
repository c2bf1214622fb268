"""What lidars see, ray by ray; oracles/test_vision.py and test_scans.py have whole scenes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import LidarParams

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.3)


def thing(sim: Sim, kind: str, pose: fs.Pose, name: str | None = None, **shape: Any) -> fs.SimObject:
    """Spawn a shape of a kind that can be seen."""
    handle: fs.SimObject = sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **shape), pose, name=name))
    return handle


def at(x: float, y: float, z: float = 0.5) -> fs.Pose:
    """Return a pose, by default half a meter high."""
    return fs.Pose.from_xyz(x, y, z)


def ranges(sim: Sim, pose: Any = (0.0, 0.0, 0.5), **settings: Any) -> list[float]:
    """Return what a lidar in the world reads; by default four rays: ahead, left, behind, right."""
    settings = {"rays": 4, "angle_min": 0.0, "angle_max": 2.0 * math.pi, **settings}
    lidar = sim.add_sensor("lidar", pose=pose if isinstance(pose, fs.Pose) else list(pose), **settings)
    reading = lidar.read()
    lidar.remove()
    out: list[float] = reading.ranges.tolist()
    return out


def test_exact_ranges(sim: Sim) -> None:
    thing(sim, "box", at(3.0, 0.0), half_extents=(0.5, 0.5, 0.5))
    thing(sim, "sphere", at(0.0, 4.0, 0.8), radius=0.5)
    thing(sim, "cylinder", at(-2.0, 0.1), radius=0.5, height=1.0)
    thing(sim, "capsule", at(0.0, -3.0, -0.2), radius=0.3, height=1.0)
    assert ranges(sim) == pytest.approx([2.5, 3.6, 2.0 - math.sqrt(0.24), 3.0 - math.sqrt(0.05)])


def test_what_is_above_or_below_is_not_seen(sim: Sim) -> None:
    thing(sim, "box", at(3.0, 0.0, 0.5), half_extents=(0.5, 0.5, 0.5))
    assert [ranges(sim, (0, 0, z))[0] for z in (-0.01, 0.01, 0.99, 1.01)] == [math.inf, 2.5, 2.5, math.inf]


def test_planes_are_walls_from_both_sides(sim: Sim) -> None:
    thing(sim, "plane", fs.Pose.from_euler(5.0, 0.0, 0.0, 0.0, math.pi / 2, 0.0))
    thing(sim, "plane", fs.Pose.from_euler(0.0, 0.0, 0.0))
    assert ranges(sim) == pytest.approx([5.0, math.inf, math.inf, math.inf])
    assert ranges(sim, (8.0, 0.0, 0.5)) == pytest.approx([math.inf, math.inf, 3.0, math.inf])


def test_what_it_is_inside_of_is_not_seen(sim: Sim) -> None:
    thing(sim, "box", at(0.0, 0.0))
    thing(sim, "cylinder", at(0.0, 0.0), radius=0.7)
    thing(sim, "box", at(3.0, 0.0))
    assert ranges(sim) == pytest.approx([2.5, math.inf, math.inf, math.inf])


def test_objects_and_robots_are_seen_where_they_are_now(sim: Sim) -> None:
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.5], rays=4)
    lidar.subscribe()
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, at(2.0, 0.0), motion_mode="omnidirectional"))
    robot.set_velocity(1.0)
    for _ in range(10):
        sim.step_once()
        assert lidar.latest.ranges[2] == pytest.approx(robot.get_pose().x - 0.2)
    sim.remove_object(robot)
    sim.step_once()
    assert lidar.latest.ranges.tolist() == [math.inf] * 4


def test_robots_see_each_other_but_not_themselves(sim: Sim) -> None:
    for x in (0.0, 2.0):
        sim.spawn(
            fs.AgentSpawnParams(BOT, BOT, at(x, 0.0), sensors=[{"type": "lidar", "rays": 4, "pose": [0.1, 0, 0]}])
        )
    readings = sim.sensors.read([agent.sensor("scan") for agent in sim.agents])
    assert readings[0].ranges == pytest.approx([math.inf, math.inf, 1.7, math.inf])
    assert readings[1].ranges == pytest.approx([2.0 - 0.2 + 0.1, math.inf, math.inf, math.inf])


@pytest.mark.parametrize("yaw", [0.0, 0.7, 2.0, -2.9, math.pi])
@pytest.mark.parametrize(
    ("first", "last"), [(-math.pi, math.pi), (-0.5, 1.0), (0.0, 2 * math.pi), (2.0, 4.0), (-6, -5)]
)
def test_rays_point_where_they_say(sim: Sim, yaw: float, first: float, last: float) -> None:
    for index in range(24):
        angle = 2.0 * math.pi * index / 24
        thing(sim, "sphere", at(3.0 * math.cos(angle), 3.0 * math.sin(angle)), radius=0.1 + 0.01 * index)
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.5, yaw], rays=97, angle_min=first, angle_max=last)
    angles = yaw + lidar.params.angles
    assert (angles[0], lidar.params.angles[-1] <= last) == (yaw + first, True)
    expected = np.full(97, np.inf)
    for index in range(24):
        bearing = np.abs((angles - 2.0 * math.pi * index / 24 + math.pi) % (2.0 * math.pi) - math.pi)
        offset, radius = 3.0 * np.sin(bearing), 0.1 + 0.01 * index
        hit = (bearing < 1.0) & (offset < radius)
        expected[hit] = 3.0 * np.cos(bearing[hit]) - np.sqrt(radius**2 - offset[hit] ** 2)
    assert lidar.read().ranges == pytest.approx(expected)


def test_upside_down_turns_the_other_way(sim: Sim) -> None:
    thing(sim, "box", at(0.0, 3.0))
    assert ranges(sim, fs.Pose.from_euler(0, 0, 0.5, math.pi)) == pytest.approx([math.inf, math.inf, math.inf, 2.5])


def test_near_and_far_limits(sim: Sim) -> None:
    thing(sim, "box", at(1.0, 0.0), half_extents=(0.5, 0.5, 0.5))
    thing(sim, "box", at(0.0, 5.5), half_extents=(0.5, 0.5, 0.5))
    assert ranges(sim, range_min=0.6, range_max=4.9) == [-math.inf, math.inf, math.inf, math.inf]
    assert ranges(sim, range_min=0.4, range_max=5.1) == pytest.approx([0.5, 5.0, math.inf, math.inf])


def test_labels_and_intensities(sim: Sim) -> None:
    box = thing(sim, "box", fs.Pose.from_yaw(3.0, 0.0, 0.5, math.pi / 6), name="box")
    ball = thing(sim, "sphere", at(0.1, 3.0), radius=0.2)
    thing(sim, "plane", fs.Pose.from_euler(-4.0, 0.0, 0.0, 0.0, math.pi / 2, math.pi / 4), name="wall")
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.5], rays=4, angle_min=0, angle_max=2 * math.pi)
    assert (lidar.read().labels, lidar.read().intensities) == (None, None)
    lidar = sim.add_sensor(lidar.params, name="more", labels=True, intensities=True)
    reading = lidar.read()
    wall = sim.get_object("wall").object_id
    assert reading.labels.tolist() == [box.object_id, ball.object_id, wall, wall]
    assert reading.intensities == pytest.approx([math.cos(math.pi / 6), math.sqrt(0.75), *[math.sqrt(0.5)] * 2])
    near = sim.add_sensor(lidar.params, name="near", range_max=3.5).read()
    assert near.labels.tolist() == [box.object_id, ball.object_id, -1, -1]
    assert near.intensities[2:].tolist() == [0.0, 0.0]


def test_noise(sim: Sim) -> None:
    thing(sim, "plane", fs.Pose.from_euler(4.0, 0.0, 0.0, 0.0, math.pi / 2, 0.0))
    settings = {"rays": 4001, "angle_min": -1.0, "angle_max": 1.0}
    true = np.array(ranges(sim, **settings))
    for noise, share in ((0.05, 0.0), (0.0, 0.02), (0.05, 0.02)):
        errors = np.array(ranges(sim, noise=noise, relative_noise=share, **settings)) - true
        spread = errors / np.hypot(noise, share * true)
        assert spread.mean() == pytest.approx(0.0, abs=0.06)
        assert spread.std() == pytest.approx(1.0, abs=0.04)
    assert ranges(sim, noise=0.1)[1:] == [math.inf] * 3


def test_what_is_hidden_in_a_crowd_is_left_out_without_a_trace(make_sim: MakeSim) -> None:
    """A few things are all drawn; in a crowd those behind others are not."""
    rng = np.random.default_rng(8)
    places = rng.uniform(-9.5, 9.5, (500, 2))
    shapes = ("box", "cylinder", "sphere", "capsule")
    labels = {"range_max": 25.0, "labels": True, "rays": 777, "angle_min": -2.0, "angle_max": 3.0}
    crowd = make_sim()
    for index, (x, y) in enumerate(places.tolist()):
        size = {"half_extents": (0.2, 0.1, 0.5), "radius": 0.1, "height": 1.0}
        thing(crowd, shapes[index % 4], fs.Pose.from_yaw(x, y, 0.5, 0.1 * index), name=f"t{index}", **size)
    thing(crowd, "box", at(0.0, 10.0), name="wall", half_extents=(12.0, 0.1, 1.0))
    together = crowd.add_sensor("lidar", pose=[0.3, 0.2, 0.5], **labels).read()
    # The same again, with what was seen alone.
    seen = [crowd.get_object(int(label)) for label in np.unique(together.labels) if label >= 0]
    assert 20 < len(seen) < 120
    few = make_sim()
    for obj in seen:
        index = int((obj.name or "")[1:]) if obj.name != "wall" else -1
        kind = "box" if index < 0 else shapes[index % 4]
        extents = (12.0, 0.1, 1.0) if index < 0 else (0.2, 0.1, 0.5)
        thing(few, kind, obj.get_pose(), name=obj.name, half_extents=extents, radius=0.1, height=1.0)
    alone = few.add_sensor("lidar", pose=[0.3, 0.2, 0.5], **labels).read()
    assert alone.ranges.tolist() == together.ranges.tolist()


def test_large_fleets_are_looked_up_in_a_grid(sim: Sim) -> None:
    rng = np.random.default_rng(2)
    places = rng.uniform(-60, 60, (1500, 2))
    sim.spawn_all([fs.AgentSpawnParams(BOT, BOT, at(*place)) for place in places.tolist()])
    for y in (-62.0, 62.0):
        thing(sim, "box", at(0.0, y), half_extents=(62.0, 0.1, 1.0))
    settings = {"rays": 30, "range_max": 5.0}
    lidars = [sim.add_sensor("lidar", agent, **settings) for agent in sim.agents]
    together = [reading.ranges.tolist() for reading in sim.sensors.read(lidars)]
    outer = sorted(range(1500), key=lambda index: places[index, 1])
    chosen = [*outer[:20], *outer[-20:], *range(0, 1500, 100)]
    assert [lidars[index].read().ranges.tolist() for index in chosen] == [together[index] for index in chosen]


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"angle_min": 1.0, "angle_max": 0.0}, "angle_max: must be at least angle_min"),
        ({"angle_min": -math.pi, "angle_max": 4.0}, "angle_max: must be at least angle_min and at most a full turn"),
        ({"range_min": 10.0}, "range_min: must be below range_max"),
        ({"rays": 0}, "rays: must be"),
        ({"noise": -1.0}, "noise: must be"),
        ({"range_max": math.inf}, "range_max: must be"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=message):
        LidarParams(**settings)


@pytest.mark.parametrize(
    "body",
    [
        fs.ShapeParams("sphere", radius=0.3),
        fs.ShapeParams("capsule", radius=0.2, height=0.3),
        fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2)),
    ],
    ids=["sphere", "capsule", "box"],
)
@pytest.mark.parametrize("mount", [[0.1, 0.05, 0.02], [-0.6, 0, 0]], ids=["inside", "behind"])
def test_a_tilted_lidar_looks_through_its_own_robot(sim: Sim, body: fs.ShapeParams, mount: list[float]) -> None:
    thing(sim, "box", at(1.0, 0.0), half_extents=(0.5, 2.0, 2.0))
    robot = sim.spawn(fs.AgentSpawnParams(body, body, at(0.0, 0.0)))
    lidar = sim.add_sensor(
        "lidar", robot, rays=1, angle_min=0, angle_max=0, pose={"position": mount, "rpy": [0, 0.2, 0]}
    )
    assert lidar.read().ranges == pytest.approx([(0.5 - mount[0]) / math.cos(0.2)], abs=1e-3)
