"""People in a site: they come, walk around walls and robots, and robots slow down and stop before them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from overlaps import Track, least_gap
from shift_hall import shift_hall

import fleet_sim as fs
from fleet_sim.base.arrays import Floats

MAP = """
site: yard
cell: 1.0
rows: |
  ............
  .@@@@@@@@@@.
  ............
  .@@@@@@@@@@.
  ............
stations:
  - {name: west, kind: pick, at: [0.5, 2.5]}
  - {name: east, kind: drop, at: [11.5, 2.5]}
  - {name: south, kind: park, at: [6.5, 0.5]}
"""
BOX = {"shape_type": "box", "half_extents": [0.3, 0.25, 0.15]}
DRIVE = {"type": "differential", "max_linear_vel": 1.5, "max_linear_accel": 1.0, "max_angular_vel": 3.0}
WALKER = {"name": "walker", "count": 1, "at": "east", "visits": ["west"], "stays": [1000, 1000], "deviation": 0.0}


def yard(folder: Path, groups: list[dict[str, Any]], at: list[float] | None = None, **more: Any) -> Any:
    """Return a yard with people, and with a robot in the traffic `at` a place."""
    (folder / "yard.yaml").write_text(MAP)
    robots = []
    if at is not None:
        drive = {**DRIVE, "max_angular_accel": 6.0}
        robots = [{"name": "amr", "pose": [*at, 0.15], "shape": BOX, "controller": drive, **more.pop("robot", {})}]
    simulation = {"gui": False, "timestep": 0.1, "target_rtf": 0, "seed": 3, "ignore_static_collision": False}
    content = {
        "simulation": simulation,
        "site": {"map": str(folder / "yard.yaml")},
        "robots": robots,
        "traffic": {},
        "people": {"groups": groups, **more},
    }
    return fs.MultiRobotSimulationCore.from_dict(content)


def test_a_person_walks_around_walls_at_its_speed_and_stays(tmp_path: Path) -> None:
    with yard(tmp_path, [{**WALKER, "visits": ["south"]}]) as sim:
        row = sim.get_object("walker_0").row
        places = []
        for _ in range(120):
            sim.step_once()
            places.append(sim.world.position[row, :2].copy())
        way = np.array(places)
        assert np.hypot(*(way[-1] - (6.5, 0.5))) < 0.5
        assert np.array_equal(way[-1], way[-20])
        steps = np.hypot(*np.diff(way, axis=0).T)
        assert steps.max() <= 0.134 + 1e-9
        # About 2 m down and 5 m along, and no shorter than the straight line.
        assert 5.3 <= steps.sum() <= 8.0
        assert gap_to_walls(way) >= 0.2 - 1e-6


@pytest.mark.parametrize("place", [(-0.7, 2.4), (11.3, -2.7), (5.5, 40.0)])
def test_who_is_put_beyond_the_map_has_not_left_at_its_other_side(tmp_path: Path, place: tuple[float, float]) -> None:
    with yard(tmp_path, [{**WALKER, "at": "west", "visits": ["east"], "leaves": True}]) as sim:
        sim.run_simulation(duration=0.5)
        person = sim.get_object("walker_0")
        person.set_pose(fs.Pose.from_yaw(*place, 0.0, 0.0))
        sim.run_simulation(duration=0.3)
        assert person.is_alive


def gap_to_walls(points: Floats) -> float:
    """The least distance of points to the two blocks of shelves and to the edge, by rectangles."""
    gaps = [np.minimum(points, (12.0, 5.0) - points).min()]
    for low in (1.0, 3.0):
        out = np.maximum(np.maximum((1.0, low) - points, points - (11.0, low + 1.0)), 0.0)
        gaps.append(np.hypot(*out.T).min())
    return float(min(gaps))


def gap_to_person(sim: Any) -> tuple[float, float, float]:
    """The gap between the robot and the walker, from their poses, and where that one is from it: ahead and aside."""
    robot, person = sim.get_object("amr").row, sim.get_object("walker_0").row
    offset = sim.world.position[person, :2] - sim.world.position[robot, :2]
    yaw = sim.world.tables["traffic"].yaw[robot]
    ahead, aside = offset @ (np.cos(yaw), np.sin(yaw)), abs(offset @ (-np.sin(yaw), np.cos(yaw)))
    return float(np.hypot(max(abs(ahead) - 0.3, 0.0), max(aside - 0.25, 0.0)) - 0.2), float(ahead), float(aside)


def test_a_robot_and_a_person_meet_in_an_aisle_and_both_get_there(tmp_path: Path) -> None:
    # The aisle is as wide as the robot: the person turns back before it, and comes again.
    with yard(tmp_path, [WALKER], [0.5, 2.5]) as sim:
        robot, person = sim.get_object("amr").row, sim.get_object("walker_0").row
        sim.get_manager("traffic").send(sim.get_object("amr"), "east")
        least, arrived, speeds = np.inf, False, []
        for _ in range(900):
            sim.step_once()
            gap, ahead, aside = gap_to_person(sim)
            least = min(least, gap)
            if gap < 0.5 and aside < 0.3 and ahead > 0.0:
                speeds.append(float(np.hypot(*sim.world.velocity[robot, :2])))
            if not arrived and sim.get_manager("traffic").has_arrived(sim.get_object("amr")):
                arrived = True
                # Else it would stand in the way.
                sim.get_manager("traffic").send(sim.get_object("amr"), "south")
        assert arrived
        assert np.hypot(*(sim.world.position[person, :2] - (0.5, 2.5))) < 0.6
        assert least > 0.02
        assert max(speeds) <= 0.9, "as fast as it can stop from"
        figures = sim.get_manager("people").figures()
        assert figures["people"] == 1 and figures["robots_slowed_s"] + figures["robots_stood_s"] > 1.0
        assert sim.collision_count == 0


def test_a_robot_makes_room_for_a_person_who_gets_nowhere(tmp_path: Path) -> None:
    # It has nothing to do, and stands in an aisle that is no wider than both.
    with yard(tmp_path, [WALKER], [5.5, 2.5]) as sim:
        robot, person = sim.get_object("amr").row, sim.get_object("walker_0").row
        for _ in range(500):
            sim.step_once()
            assert gap_to_person(sim)[0] > 0.0
        assert np.hypot(*(sim.world.position[person, :2] - (0.5, 2.5))) < 0.6
        assert abs(sim.world.position[robot, 1] - 2.5) > 0.9


@pytest.mark.parametrize("place", [(-50.0, 2.5), (1000.0, 1000.0)])
def test_a_person_who_is_given_room_may_be_put_beside_the_site(place: tuple[float, float], tmp_path: Path) -> None:
    with yard(tmp_path, [WALKER], [5.5, 2.5]) as sim:
        person = sim.get_object("walker_0")
        sim.world.tables["person"].given[person.row] = 100
        person.set_pose(fs.Pose.from_yaw(*place, 0.0, 0.0))
        sim.step_once()
        assert sim.clock.tick == 1


def test_a_robot_that_no_person_slows_down_counts_as_not_slowed(tmp_path: Path) -> None:
    # It stops in good time before somebody whom it could have to brake for.
    waiter = {**WALKER, "at": [[4, 2], [5, 2], [5, 3], [4, 3]]}
    robot = {"safety": {"protective": 0.3, "warning": 0.0}, "controller": {**DRIVE, "max_linear_vel": 0.3}}
    with yard(tmp_path, [waiter], [0.5, 2.5], robot=robot, patience=1000) as sim:
        sim.world.tables["person"].until[sim.get_object("walker_0").row] = 10_000
        sim.get_manager("traffic").send(sim.get_object("amr"), [3.5, 2.5])
        for _ in range(150):
            sim.step_once()
        assert sim.get_manager("traffic").has_arrived(sim.get_object("amr"))
        assert sim.get_manager("people").figures()["robots_slowed_s"] == 0.0


def test_a_lidar_sees_people(tmp_path: Path) -> None:
    lidar = {"sensors": [{"type": "lidar", "rays": 90, "range_max": 8.0, "labels": True, "pose": [0.0, 0.0, 0.3]}]}
    still = {**WALKER, "at": "east", "visits": ["east"]}
    with yard(tmp_path, [still], [8.5, 2.5], robot=lidar) as sim:
        for _ in range(30):
            sim.step_once()
        scan, person = sim.get_object("amr").sensor("scan").read(), sim.get_object("walker_0")
        seen = np.asarray(scan.ranges)[np.asarray(scan.labels) == person.object_id]
        gap = np.hypot(*(sim.world.position[person.row, :2] - (8.5, 2.5))) - 0.2
        assert abs(seen.min() - gap) < 0.02


GROUPS: list[dict[str, Any]] = [
    {"name": "staff", "count": 6, "size": 2, "visits": ["pick", "park", "drop"], "stays": [1, 3]},
    {"name": "guest", "per_hour": 600, "at": "west", "visits": ["east"], "leaves": True, "begin": 2, "end": 40},
]


def run(sim: Any, steps: int) -> str:
    for _ in range(steps):
        sim.step_once()
    return str(sim.state_hash())


def test_equal_seeds_are_equal_runs_and_go_on_from_states(tmp_path: Path) -> None:
    with yard(tmp_path, GROUPS, [0.5, 0.5]) as first, yard(tmp_path, GROUPS, [0.5, 0.5]) as second:
        for sim in (first, second):
            sim.get_manager("traffic").send(sim.get_object("amr"), "east")
        assert run(first, 200) == run(second, 200)
        first.save_state(tmp_path / "state")
        end = run(first, 200)
        assert first.get_manager("people").figures()["came"] > 6
    with yard(tmp_path, GROUPS, [0.5, 0.5]) as third:
        third.load_state(tmp_path / "state")
        assert run(third, 200) == end
    with yard(tmp_path, GROUPS, [0.5, 0.5], seed=4) as other:
        assert run(other, 200) != end


def test_a_shift_ends_and_guests_leave(tmp_path: Path) -> None:
    shift = {"name": "staff", "count": 4, "at": "west", "visits": ["park"], "begin": 5, "end": 30}
    with yard(tmp_path, [shift]) as sim:
        counts = []
        for _ in range(600):
            sim.step_once()
            counts.append(len(sim.get_manager("people").rows))
        assert counts[40] == 0 and counts[60] == 4 and counts[-1] == 0
        assert sim.get_manager("people").figures()["left"] == 4


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([], "groups"),
        ([{**WALKER, "visits": []}], "list of places"),
        ([{**WALKER, "visits": ["nowhere"]}], "nowhere"),
        ([{**WALKER, "visits": [[[0, 0], [1, 1]]]}], "polygon"),
        ([{**WALKER, "visits": [[[1, 1], [2, 1], [2, 2]]]}], "stand"),
        ([{**WALKER, "count": 0}], "nobody"),
        ([{**WALKER, "count": 100_000}], "room"),
        ([{**WALKER, "speed": float("nan")}], "speed"),
        ([{**WALKER, "stays": [5, 1]}], "shorter"),
        ([WALKER, WALKER], "different names"),
        ([{**WALKER, "begin": 5, "end": 4}], "begin"),
    ],
)
def test_what_cannot_be_is_one_error(tmp_path: Path, groups: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(fs.ConfigError, match=words), yard(tmp_path, groups):
        pass


def test_without_the_section_there_is_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "yard.yaml").write_text(MAP)
    content = {"simulation": {"gui": False}, "site": str(tmp_path / "yard.yaml"), "traffic": {}}
    with fs.MultiRobotSimulationCore.from_dict(content) as sim:
        sim.step_once()
        assert not {"person", "safety"} & set(sim.world.tables)
        assert not any("people" in system.name for system in sim.pipeline.systems)


@pytest.mark.slow
def test_nobody_keeps_a_robot_standing_in_a_busy_hall(tmp_path: Path) -> None:
    # People walk where 80 robots queue: to picking stations, packing desks and chargers.
    content = shift_hall(tmp_path, seed=1)
    places = ["workstation", "drop", "charge"]
    content["people"] = {"groups": [{"name": "picker", "count": 3, "visits": places, "stays": [5, 60]}]}
    with fs.MultiRobotSimulationCore.from_dict(content) as sim:
        world, table, robots = sim.world, sim.world.tables["traffic"], np.array([robot.row for robot in sim.agents])
        people = sim.get_manager("people").rows
        stands, poses = np.zeros(len(robots)), []
        longest = 0.0
        for _ in range(4800):
            sim.step_once()
            goes = (table.goal[robots] >= 0) & ~table.arrived[robots]
            still = ~world.velocity[robots].any(axis=1) & ~world.angular_velocity[robots].any(axis=1)
            stands = np.where(goes & still, stands + world.clock.dt, 0.0)
            longest = max(longest, float(stands.max()))
            poses.append(
                (world.position[robots, :2].copy(), table.yaw[robots].copy(), world.position[people, :2].copy())
            )
        spots, yaws, steps = (np.array(part) for part in zip(*poses, strict=True))
        discs = np.column_stack((world.radius[people], np.zeros(len(people))))
        walked = Track(steps, np.zeros(steps.shape[:2]), discs)
        assert longest < 60.0
        assert min(least_gap(Track(spots, yaws, world.half_extents[robots, :2]), walked)) > 0.0
