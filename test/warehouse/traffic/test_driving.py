"""Robots drive from room to room and touch no wall."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from buildings import drive, gap, office, scenario, warehouse

import fleet_sim as fs
from fleet_sim.base.params import ActionCause
from fleet_sim.warehouse.sites import Site
from fleet_sim.world.commands import ExecuteAction

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
        (
            (2.5, 1.8),
            ActionCause.INVALID_GOAL,
            "too near to a wall, a no-go zone or the edge",
        ),
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
