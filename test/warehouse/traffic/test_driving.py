"""Robots drive from room to room and touch no wall."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from buildings import drive, gap, office, scenario, warehouse
from crowds import Crowd
from networks import HALL, site_of

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.base.params import ActionCause
from fleet_sim.warehouse.sites import Site, Warehouse, write_site
from fleet_sim.world.commands import ExecuteAction
from fleet_sim.world.joints import EntityPaths
from fleet_sim.world.snapshot import NEAR, paths_ahead, recorded_paths_ahead

DIFF = {"name": "amr", "urdf_path": "diff_base"}
OMNI = {
    "name": "amr",
    "motion_mode": "omnidirectional",
    "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]},
}
RADIUS = {"diff_base": 0.4049, "box": float(np.hypot(0.3, 0.2))}
ROOMS = [(15, 15), (100, 25), (175, 15), (15, 130), (120, 150), (200, 130)]
"""A cell (column, row) of each room of the office."""


def places(site: Site, cells: list[tuple[int, int]]) -> np.ndarray:
    """The middles of cells (column, row)."""
    return site.grid.positions(np.array([row * site.grid.width + column for column, row in cells]))


@pytest.mark.parametrize("robot", [DIFF, OMNI], ids=["differential", "omnidirectional"])
@pytest.mark.slow
def test_a_robot_visits_every_room_of_an_office(tmp_path: Path, robot: dict[str, object]) -> None:
    site = office()
    rooms = places(site, [ROOMS[number] for number in (0, 5, 1, 4, 2, 3, 0)])
    radius = RADIUS["diff_base" if robot is DIFF else "box"]
    path = scenario(tmp_path, site, [{**robot, "pose": [*rooms[0].tolist(), 0.2]}])
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        amr = sim.agents[0]
        for yaw, room in enumerate(rooms[1:].tolist()):
            action = fs.MoveTo(fs.Pose.from_yaw(*room, 0.2, 0.5 * yaw), route=True)
            amr.execute_action(action)
            seen = drive(sim, amr)
            assert (action.status, action.error_message) == ("completed", None)
            pose = amr.get_pose()
            assert pose.position[:2] == pytest.approx(room)
            assert pose.yaw == pytest.approx(0.5 * yaw)
            assert min(gap(site, place) for place in seen) >= radius + 0.02 - 1e-6
            # Not along a straight line: walls are between the rooms.
            assert len(seen) > 20


def test_a_robot_drives_between_shelves_by_a_mapping_from_yaml(tmp_path: Path) -> None:
    site = warehouse()
    start, goal = site.station("shelf_0"), site.station("workstation_1")
    path = scenario(tmp_path, site, [{**DIFF, "at": {"site": "shelf_0"}}])
    given = yaml.safe_load(f"{{type: move_to, target_pose: [{goal.x}, {goal.y}, 0, 1.0], route: true}}")
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        amr = sim.agents[0]
        assert amr.get_pose().position[:2] == pytest.approx((start.x, start.y))
        sim.inbox.put(ExecuteAction(names=("amr",), actions=(given,)))
        sim.step_once()
        assert amr.get_current_action().progress(amr)["distance_left"] > np.hypot(goal.x - start.x, goal.y - start.y)
        seen = drive(sim, amr)
        assert amr.get_pose().position[:2] == pytest.approx((goal.x, goal.y))
        assert min(gap(site, place) for place in seen) >= RADIUS["diff_base"] + 0.02 - 1e-6


def test_progress_falls_all_the_way_and_cancelling_stops(tmp_path: Path) -> None:
    site = office()
    begin, end = places(site, [ROOMS[0], ROOMS[5]]).tolist()
    with fs.MultiRobotSimulationCore.from_yaml(scenario(tmp_path, site, [{**DIFF, "pose": [*begin, 0.0]}])) as sim:
        amr = sim.agents[0]
        action = fs.MoveTo(fs.Pose((*end, 0.0)), route=True)
        amr.execute_action(action)
        left = []
        while not action.is_complete():
            sim.step_once()
            left.append(action.progress(amr)["distance_left"])
        assert all(after <= before + 1e-9 for before, after in pairwise(left))
        route = sim.get_manager("router").plan(begin, end, RADIUS["diff_base"])
        assert left[0] == pytest.approx(route.length, rel=0.01)
        assert left[-1] == 0.0
        back = fs.MoveTo(fs.Pose((*begin, 0.0)), route=True)
        amr.execute_action(back)
        for _ in range(300):
            sim.step_once()
        assert amr.is_moving
        back.cancel()
        sim.step_once()
        assert (back.cause, amr.is_moving) == (ActionCause.CANCELLED, False)


def test_a_robot_that_moves_brakes_before_it_takes_a_route(tmp_path: Path) -> None:
    site = warehouse()
    path = scenario(tmp_path, site, [{**DIFF, "at": {"site": "charger_0"}, "max_linear_vel": 2.0}])
    goal = site.station("workstation_1")
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        amr = sim.agents[0]
        amr.set_velocity(vx=2.0)
        for _ in range(20):
            sim.step_once()
        assert amr.is_moving
        action = fs.MoveTo(fs.Pose((goal.x, goal.y, 0.0)), route=True)
        amr.execute_action(action)
        seen = drive(sim, amr)
        assert action.status == "completed"
        assert min(gap(site, place) for place in seen) >= RADIUS["diff_base"] + 0.02 - 1e-6


@pytest.mark.parametrize(
    ("goal", "cause", "reason"),
    [
        ((4.5, 5.5), ActionCause.INVALID_GOAL, "in a wall"),
        ((-3.0, 0.5), ActionCause.INVALID_GOAL, "outside of the map of site 'hall'"),
        ((2.5, 1.8), ActionCause.INVALID_GOAL, "too near to a wall, a no-go zone or the edge"),
    ],
)
def test_goals_that_cannot_be_are_refused_and_nobody_moves(
    tmp_path: Path, goal: tuple[float, float], cause: ActionCause, reason: str
) -> None:
    site = warehouse()
    with fs.MultiRobotSimulationCore.from_yaml(
        scenario(tmp_path, site, [{**DIFF, "at": {"site": "charger_0"}}])
    ) as sim:
        amr = sim.agents[0]
        before = amr.get_pose()
        action = fs.MoveTo(fs.Pose((*goal, 0.0)), route=True)
        amr.execute_action(action)
        drive(sim, amr)
        assert (action.status, action.cause) == ("failed", cause)
        assert reason in str(action.error_message)
        assert amr.get_pose() == before


def test_without_a_site_a_route_is_refused_with_what_to_do(sim: fs.MultiRobotSimulationCore) -> None:
    box = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
    amr = sim.spawn(fs.AgentSpawnParams(box, box, name="amr"))
    action = fs.MoveTo(fs.Pose((1, 0, 0)), route=True)
    amr.execute_action(action)
    sim.step_once()
    assert (action.status, action.cause) == ("failed", ActionCause.INVALID_GOAL)
    assert "add a section 'site' to the scenario" in str(action.error_message)


def test_a_load_that_sticks_out_needs_more_room(tmp_path: Path) -> None:
    site = warehouse()
    path = scenario(tmp_path, site, [{**DIFF, "at": {"site": "charger_0"}}])
    goal = site.station("shelf_10")
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        amr = sim.agents[0]
        beam = fs.ShapeParams("box", half_extents=(0.8, 0.1, 0.1))
        amr.attach_object(
            sim.spawn(fs.SimObjectSpawnParams(beam, beam, name="beam")), relative_pose=fs.Pose((0, 0, 0.5))
        )
        action = fs.MoveTo(fs.Pose((goal.x, goal.y, 0.0)), route=True)
        amr.execute_action(action)
        sim.step_once()
        assert action.status == "failed"
        assert "0.826" in str(action.error_message)


def test_via_points_are_passed_around_walls_and_clearance_is_kept(tmp_path: Path) -> None:
    site = office()
    begin, via, end = places(site, [ROOMS[0], ROOMS[4], ROOMS[1]]).tolist()
    path = scenario(tmp_path, site, [{**DIFF, "pose": [*begin, 0.0]}])
    path.write_text(path.read_text().replace("site: office.yaml", "site: {map: office.yaml, clearance: 0.04}"))
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        amr = sim.agents[0]
        amr.execute_action(fs.MoveAction([fs.Pose((*via, 0.0)), fs.Pose((*end, 0.0))], route="grid"))
        seen = drive(sim, amr)
        assert np.hypot(*(seen - via).T).min() < 0.01
        assert amr.get_pose().position[:2] == pytest.approx(end)
        assert min(gap(site, place) for place in seen) >= RADIUS["diff_base"] + 0.04 - 1e-6


# ---- `fleet-sim site route` ------------------------------------------------------------------------------------------


@pytest.fixture
def hall(tmp_path: Path) -> str:
    write_site(Warehouse().site(), tmp_path / "hall.yaml")
    return str(tmp_path / "hall.yaml")


def test_it_prints_and_draws_a_route(hall: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "route.png"
    given = ["--radius", "0.4", "--picture", str(picture)]
    assert main(["site", "route", hall, "0.5", "0.5", "37.5", "12.5", *given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["0.500", "0.500"]
    assert lines[-3].split() == ["37.500", "12.500"]
    assert lines[-2].startswith("length       45.1")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["0.5", "0.5", "7.5", "5"], "the goal (7.5, 5) is in a wall"),
        (["-0.5", "0.5", "7.5", "3.5"], "the start (-0.5, 0.5) is outside of the map"),
        (["0.5", "0.5", "7.5", "3.5", "--radius", "0.6"], "needs 0.6 m of room"),
        (["0.5", "0.5", "7.5", "3.5", "--route", "roadmap"], "has no roadmap; use grid or auto"),
    ],
)
def test_what_has_no_route_is_an_error(
    hall: str, capsys: pytest.CaptureFixture[str], given: list[str], reason: str
) -> None:
    assert main(["site", "route", hall, *given]) == 1
    assert reason in capsys.readouterr().err


# ---- Paths of robots in the traffic, as views, recordings and ROS read them ------------------------------------------


def paths_of(crowd: Crowd) -> EntityPaths:
    paths = crowd.traffic.planned.paths_of(crowd.traffic.rows)
    assert not any(array.flags.writeable for array in paths)
    return paths


def test_a_planned_path_is_where_the_robot_drives_corner_by_corner() -> None:
    crowd = Crowd(site_of(HALL), 1, at=np.array([(0.5, 0.5), (0.5, 0.5)]), window=40)
    traffic, agent = crowd.traffic, crowd.agents[0]
    assert paths_of(crowd).lengths.tolist() == [0]
    traffic.send(agent, (9.5, 5.5), heading=0.0)
    crowd.run(0.1)
    planned = paths_of(crowd)
    assert planned.lengths.tolist() == [len(planned.positions)] and planned.nexts.tolist() == [0]
    assert planned.positions[-1].tolist() == [9.5, 5.5, 0.15]
    # Each line is along an axis, and at each corner it turns: there is no corner too many.
    ways = np.diff(np.vstack(([0.5, 0.5, 0.15], planned.positions)), axis=0)[:, :2]
    assert (np.count_nonzero(np.abs(ways) > 1e-9, axis=1) == 1).all()
    assert (np.abs((ways[1:] * ways[:-1]).sum(axis=1)) < 1e-9).all()
    assert fs.Pose(tuple(planned.positions[-1]), tuple(planned.orientations[-1])).yaw == pytest.approx(0.0)
    while not traffic.has_arrived(agent):
        now = paths_of(crowd)
        ahead = now.positions[int(now.nexts[0]) :]
        if len(ahead):
            # Whatever was planned anew on the way, it is on the line to the corner that comes next.
            assert np.abs(ahead[0] - agent.get_pose().position)[:2].min() < 1e-6
            assert ahead[-1].tolist() == [9.5, 5.5, 0.15]
        crowd.run(0.1)
    assert paths_of(crowd).lengths.tolist() == [0]


def test_snapshots_have_paths_of_the_traffic_beside_those_of_others() -> None:
    crowd = Crowd(site_of(HALL), 6, seed=2)
    crowd.traffic.leave(crowd.agents[2])
    crowd.agents[2].set_goal_pose(fs.Pose((5.0, 0.5, 0.15)))
    rows = crowd.traffic.rows
    crowd.traffic.send_rows(rows, crowd.traffic.nodes(rows)[::-1])
    crowd.sim.run_simulation(1.0)
    snapshot, own = crowd.sim.snapshots.take(), paths_of(crowd)
    found = {
        name: snapshot.path_positions[snapshot.path_starts[index] : snapshot.path_starts[index + 1]]
        for index, name in enumerate(snapshot.names)
    }
    assert found["amr_2"].tolist() == [[5.0, 0.5, 0.15]]
    ends = np.cumsum(own.lengths)
    for number, name in enumerate(agent.name for agent in crowd.traffic.robots):
        assert name is not None
        assert np.array_equal(found[name], own.positions[ends[number] - own.lengths[number] : ends[number]])
    assert own.lengths.any()
    assert sum(map(len, found.values())) == len(own.positions) + 1
    # As it was saved, whatever was planned since.
    saved = crowd.sim.save_state()
    crowd.sim.run_simulation(3.0)
    crowd.sim.restore_state(saved)
    again = crowd.sim.snapshots.take()
    assert np.array_equal(again.path_positions, snapshot.path_positions)
    crowd.sim.clear()
    assert not crowd.sim.world.waypoints.sources


def test_a_recording_has_the_planned_paths(tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    from fleet_sim.apps.record.recording import Recording

    crowd = Crowd(site_of(HALL), 6, seed=4)
    rows = crowd.traffic.rows
    crowd.traffic.send_rows(rows, crowd.traffic.nodes(rows)[::-1])
    seen = []
    with crowd.sim, crowd.sim.record(tmp_path / "run.mcap", rate=None):
        for _ in range(6):
            # Paths are looked at twice a second.
            crowd.run(0.5)
            seen.append((crowd.sim.snapshots.take(), paths_ahead(crowd.sim.world)))
    with Recording(tmp_path / "run.mcap") as recording:
        for snapshot, ahead in seen:
            recorded = recording.snapshot_at(snapshot.time)
            assert np.array_equal(recorded.path_starts, snapshot.path_starts)
            assert np.array_equal(recorded.path_positions, snapshot.path_positions)
            assert np.array_equal(recorded.path_orientations, snapshot.path_orientations)
            # How far robots have come is seen by where they are, up to the line that leads to the first corner.
            played = recorded_paths_ahead(recorded)
            assert np.array_equal(np.unique(played.robots), np.unique(ahead.robots))
            for robot in np.unique(ahead.robots).tolist():
                live, shown = (paths.lines[paths.robots == robot] for paths in (ahead, played))
                assert np.array_equal(live[-1, 1], shown[-1, 1])
                lengths = [np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum() for lines in (live, shown)]
                assert lengths[0] == pytest.approx(lengths[1], abs=2.0 * NEAR)
    assert any(len(ahead.lines) for _, ahead in seen)
