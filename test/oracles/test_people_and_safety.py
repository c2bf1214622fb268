"""People and the robots before them, from poses alone: a hall turned by 0.7 rad, unequal speeds and distances."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, write_site

ORIGIN, YAW = np.array([3.0, -2.0]), 0.7
AHEAD, ASIDE = np.array([math.cos(YAW), math.sin(YAW)]), np.array([-math.sin(YAW), math.cos(YAW)])
STEP = 0.1
STANDS = ((2.3, 2.2), (12.6, 7.7))


def world(x: float, y: float) -> tuple[float, float]:
    """Return a point of the hall, in the frame of the world."""
    return tuple((ORIGIN + x * AHEAD + y * ASIDE).tolist())


def square(x: float, y: float, size: float) -> list[list[float]]:
    """Return the corners of a square of the hall from its lower left one."""
    return [list(world(x + size * a, y + size * b)) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]


def hall(folder: Path, people: dict[str, Any], **more: Any) -> fs.MultiRobotSimulationCore:
    """Return a hall of 30 x 10 m with a wall at 15 m, people and what else there is."""
    free = np.ones((20, 60), bool)
    free[:, 30] = False
    stations = tuple(Station(f"stand_{number}", StationKind.PARK, *world(*at)) for number, at in enumerate(STANDS))
    write_site(Site("hall", Grid(free, 0.5, (*ORIGIN.tolist(), YAW)), stations=stations), folder / "hall.yaml")
    simulation = {"gui": False, "monitor": False, "timestep": STEP, "target_rtf": 0, "seed": 5}
    content = {"simulation": simulation, "site": str(folder / "hall.yaml"), "people": people, **more}
    return fs.MultiRobotSimulationCore.from_dict(content)


CORNERS = ((1.0, 1.0), (11.0, 1.2), (5.5, 6.0))
GUESTS = ((26.0, 1.0), (26.0, 6.0))
CLERKS = {"name": "clerk", "count": 3, "tour": "order", "stays": [2.3, 4.7], "speed": 1.1, "deviation": 0.2}
VISITORS = {"name": "guest", "per_hour": 900.0, "size": 2, "begin": 3.0, "leaves": True, "deviation": 0.0}


class Seen(NamedTuple):
    """Places (T, N, 2) in the hall of three clerks and their speeds as told; where and when guests came and went."""

    places: Floats
    speeds: Floats
    came: dict[str, float]
    last: dict[str, tuple[float, Floats]]
    figures: dict[str, float]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    clerks = {**CLERKS, "at": square(4.0, 2.0, 4.0), "visits": [square(*corner, 3.0) for corner in CORNERS]}
    guests = {**VISITORS, "at": square(16.5, 4.0, 2.5), "visits": [square(*corner, 3.0) for corner in GUESTS]}
    places, speeds, came, last = [], [], {}, {}
    with hall(tmp_path_factory.mktemp("hall"), {"groups": [clerks, guests]}) as sim:
        ours = [sim.get_object(f"clerk_{number}") for number in range(3)]
        before = np.array([clerk.get_pose().position[:2] for clerk in ours])
        while sim.sim_time < 260.0:
            sim.step_once()
            poses = [clerk.get_pose() for clerk in ours]
            now = np.array([pose.position[:2] for pose in poses])
            told = np.array([clerk.velocity[:2] for clerk in ours])
            assert told == pytest.approx((now - before) / STEP, abs=1e-9)
            walks = np.hypot(*told.T) > 0.06
            yaws = np.array([pose.yaw for pose in poses])[walks]
            assert np.cos(yaws - np.arctan2(*told[walks].T[::-1])) == pytest.approx(1.0)
            offsets = now - ORIGIN
            places.append(np.stack((offsets @ AHEAD, offsets @ ASIDE), axis=1))
            speeds.append(np.hypot(*told.T))
            before = now
            for person in sim.sim_objects:
                if str(person.name).startswith("guest"):
                    came.setdefault(str(person.name), sim.sim_time)
                    offset = np.array(person.get_pose().position[:2]) - ORIGIN
                    last[str(person.name)] = sim.sim_time, np.array([offset @ AHEAD, offset @ ASIDE])
        figures = sim.get_manager("people").figures()
    return Seen(np.array(places), np.array(speeds), came, last, figures)


def test_people_visit_places_in_their_order_and_stay_as_long_as_the_settings_say(seen: Seen) -> None:
    stays = []
    for places, speeds in zip(seen.places.transpose(1, 0, 2), seen.speeds.T, strict=True):
        still = np.concatenate(([False], speeds == 0.0, [False]))
        begins, ends = np.flatnonzero(~still[:-1] & still[1:]), np.flatnonzero(still[:-1] & ~still[1:])
        visited = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            # Shorter ones are for others in the way.
            if end - begin > 12 and end < len(speeds):
                visited.append(next(i for i, low in enumerate(CORNERS) if (abs(places[begin] - low - 1.5) < 1.9).all()))
                stays.append((end - begin) * STEP)
        assert visited == [number % 3 for number in range(len(visited))] and len(visited) > 15
        # Free, it walks at the speed that it likes, and never faster.
        assert speeds.max() == pytest.approx(np.percentile(speeds[speeds > 0.0], 60.0), rel=1e-3)
    assert stats.kstest(stays, stats.uniform(2.3, 2.4).cdf).pvalue > 0.01


def test_guests_come_by_twos_at_random_times_go_the_same_way_and_leave_there(seen: Seen) -> None:
    names = sorted(seen.came, key=lambda name: int(name.rpartition("_")[2]))
    pairs = list(zip(names[::2], names[1::2], strict=True))
    assert all(seen.came[first] == seen.came[second] for first, second in pairs)
    times = [seen.came[first] for first, _ in pairs]
    # 900 an hour, to a step, from the third second on.
    assert stats.kstest(np.diff([3.0, *times]), stats.expon(scale=4.0).cdf).pvalue > 0.01 and len(times) > 50
    gone = {name: place for name, (time, place) in seen.last.items() if time < 260.0 - STEP}
    sides = {name: place[1] > 5.0 for name, place in gone.items()}
    assert all(sides[first] is sides[second] for first, second in pairs if first in sides and second in sides)
    assert 0.3 < np.mean(list(sides.values())) < 0.7
    assert all(x >= 25.4 for x, _ in gone.values()), "they leave where they went to"
    told = seen.figures
    assert told["came"] == len(names) + 3 and told["left"] == len(gone) and told["people"] == len(names) + 3 - len(gone)


def test_who_walks_and_how_fast_is_as_the_settings_say(tmp_path: Path) -> None:
    crowd = {"count": 300, "visits": ["park"], "speed": 1.2, "deviation": 0.15, "radius": 0.17}
    with hall(tmp_path, {"groups": [{**crowd, "at": square(0.0, 0.0, 14.0)[:2] + square(0.0, 0.0, 10.0)[2:]}]}) as sim:
        table, people = sim.world.tables["person"], sim.get_manager("people")
        speeds = table.speed[people.rows]
        assert stats.kstest(speeds, stats.norm(1.2, 0.15).cdf).pvalue > 0.01
        # Within three standard errors.
        assert np.std(speeds) == pytest.approx(0.15, rel=3.0 / math.sqrt(2 * 300))
        places = sim.world.position[people.rows, :2]
        apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) + 9.0 * np.eye(300)
        assert apart.min() >= 0.34


FIELDS = {"protective": 0.7, "warning": 2.1, "slow": 0.45}
ACCEL, FASTEST, HALF = 0.8, 1.6, (0.35, 0.22)
DRIVE = {"type": "differential", "max_linear_vel": FASTEST, "max_linear_accel": ACCEL}
STANDING = {"aside": (5.0, 1.0, 0.25), "before": (11.0, -0.3, 0.2), "far": (8.0, -1.95, 0.3)}
"""How far ahead of the robot and aside people stand, and their radii: slow beside one, stop before one."""


def test_a_robot_slows_down_beside_people_and_stops_before_them(tmp_path: Path) -> None:
    robot = {"name": "amr", "shape": {"shape_type": "box", "half_extents": [*HALF, 0.15]}, "safety": FIELDS}
    begin = np.array(world(1.0, 4.0))
    robot |= {"pose": [*begin.tolist(), 0.15, YAW], "controller": DRIVE}
    later = {"groups": [{**CLERKS, "begin": 5000.0, "visits": ["park"]}], "patience": 1000.0}
    with hall(tmp_path, later, robots=[robot]) as sim:
        agent = sim.get_object("amr")
        for name, (x, y, radius) in STANDING.items():
            shape = fs.ShapeParams("cylinder", radius=radius, height=1.7)
            pose = fs.Pose((*(begin + x * AHEAD + y * ASIDE).tolist(), 0.85))
            sim.spawn(fs.SimObjectSpawnParams(shape, shape, pose, name=name, features={"person": {"radius": radius}}))
        agent.add_action(fs.MoveTo(fs.Pose.from_yaw(*(begin + 12.9 * AHEAD).tolist(), 0.15, YAW)))
        gone, speed, stood, slow = 0.0, 0.0, 0, 0
        stops = []
        for _ in range(400):
            (x, y, radius), disc = STANDING["aside"], math.hypot(*HALF)
            field = gone < x and math.hypot(x - gone, y) - disc - radius <= FIELDS["warning"]
            waits = speed == 0.0 and gone > 5.0
            stood, slow = stood + waits, slow + field
            sim.step_once()
            offset = np.array(agent.get_pose().position[:2]) - begin
            now = float(offset @ AHEAD)
            assert abs(offset @ ASIDE) < 1e-9
            faster, gone = float(np.hypot(*agent.velocity[:2])), now
            assert abs(faster - speed) <= ACCEL * STEP + 1e-9, "it brakes no harder than it can"
            if field:
                assert faster == pytest.approx(max(FIELDS["slow"], speed - ACCEL * STEP), abs=1e-9)
            elif gone < 7.5:
                assert faster == pytest.approx(min(FASTEST, speed + ACCEL * STEP), abs=1e-9)
            speed = faster if faster > 1e-9 else 0.0
            stops.append(speed)
        x, y, radius = STANDING["before"]
        width = disc + radius
        # Until its disc and the person touch, if it went straight on.
        left = x - math.sqrt(width**2 - y**2) - gone
        assert FIELDS["protective"] <= left <= FIELDS["protective"] + 0.1
        assert max(stops) == pytest.approx(FASTEST) and stops[-50:] == [0.0] * 50
        table, figures = sim.world.tables["safety"], sim.get_manager("people").figures()
        assert table.violated[agent.row] and table.limit[agent.row] == 0.0
        assert figures["robots_stood_s"] == pytest.approx(stood * STEP)
        assert figures["robots_slowed_s"] >= slow * STEP > 3.0
        sim.remove_object(sim.get_object("before"))
        for _ in range(100):
            sim.step_once()
        assert np.hypot(*(np.array(agent.get_pose().position[:2]) - begin - 12.9 * AHEAD)) < 0.02
        assert not table.violated[agent.row] and table.limit[agent.row] == np.inf


@pytest.mark.parametrize("dt", [0.05, 0.013])
def test_people_keep_off_as_far_as_a_robot_gets_until_it_stands(dt: float) -> None:
    robot = {"name": "amr", "shape": {"shape_type": "box", "half_extents": [*HALF, 0.15]}, "safety": FIELDS}
    robot |= {"pose": [1.0, 2.0, 0.15, YAW], "controller": DRIVE}
    with fs.MultiRobotSimulationCore.from_dict(
        {"simulation": {"timestep": dt, "target_rtf": 0}, "robots": [robot]}
    ) as sim:
        agent, safety = sim.get_object("amr"), sim.features.use("safety")
        safety.robots()
        for speed in (1.53, 0.61, 0.031):
            agent.set_velocity(speed)
            sim.run_simulation(2.5)
            begin, found = np.array(agent.get_pose().position[:2]), safety.machines(np.array([agent.row]), dt)
            assert found.headings[0] == pytest.approx([math.cos(YAW), math.sin(YAW)]) and found.rounds[0] == 0.0
            agent.set_velocity(0.0)
            sim.run_simulation(2.5)
            braked = np.hypot(*(np.array(agent.get_pose().position[:2]) - begin))
            # Where braking does not end with a step, the rest of that step is not counted out.
            assert braked - 1e-9 <= found.stops[0] <= braked + 0.5 * ACCEL * dt**2


def test_a_forklift_drives_from_stand_to_stand_and_stays_as_long_as_it_should(tmp_path: Path) -> None:
    drive = {"type": "differential", "max_linear_vel": 2.3, "max_linear_accel": 1.9, "max_angular_vel": 2.0}
    lift = {"visits": ["stand_1", "stand_0"], "tour": "order", "stays": [1.7, 3.9]}
    robot = {"name": "fork", "shape": {"shape_type": "box", "half_extents": [0.4, 0.3, 0.2]}, "forklift": lift}
    robot |= {"pose": [*world(6.25, 4.75), 0.2, YAW], "controller": drive}
    nobody = {"groups": [{**CLERKS, "begin": 5000.0, "visits": ["park"]}]}
    with hall(tmp_path, nobody, robots=[robot], traffic={}) as sim:
        agent, stays, visited, still, before = sim.get_object("fork"), [], [], 0, None
        while sim.sim_time < 150.0:
            sim.step_once()
            pose = agent.get_pose()
            if pose == before:
                still += 1
            elif still > 10:
                gaps = [math.dist(pose.position[:2], world(*at)) for at in STANDS]
                visited.append(int(np.argmin(gaps)))
                stays.append(still * STEP)
                assert min(gaps) < 0.5
            still, before = still * (pose == before), pose
    assert visited == [(number + 1) % 2 for number in range(len(visited))] and len(visited) > 5
    # To the steps in which it arrives, and is sent on.
    assert min(stays) >= 1.7 - STEP and max(stays) <= 3.9 + 3 * STEP and np.std(stays) > 0.3
