"""Ways of actions: what feedback says is left of them, where robots wait for doors, curves, and joints on cubics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.warehouse.equipment import DoorSettings, build_door
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import offer_routes

Make = Callable[..., fs.MultiRobotSimulationCore]
RADIUS = 0.2


def hall(make_sim: Make, step: float, walls: list[tuple[int, int, int, int]]) -> tuple[Any, Any]:
    """Return a simulation with routes in a hall of 10 x 6 m with walls, by cells of 0.1 m, and a robot in it."""
    sim = make_sim(timestep=step, collision_check_frequency=0.0, compiled_code="never")
    free = np.ones((60, 100), bool)
    for left, right, low, high in walls:
        # Row 0 is the northern one.
        free[60 - high : 60 - low, left:right] = False
    offer_routes(sim, Site("hall", Grid(free, 0.1)), 0.03)
    shape = fs.ShapeParams("cylinder", radius=RADIUS, height=0.4)
    robot = sim.spawn(
        fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(1.04, 2.1, 0.2, 0.7), max_linear_vel=1.1, name="r")
    )
    return sim, robot


def driven(sim: Any, robot: Any, action: Any, most: float = 60.0) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Drive; return the places (N, 2) after each step, and what the feedback said then."""
    robot.add_action(action)
    places, said = [], []
    while not action.is_complete() and sim.sim_time < most:
        sim.step_once()
        places.append(robot.position[:2])
        said.append(action.progress(robot) if not action.is_complete() else {})
    return np.array(places), said


def lengths_left(places: np.ndarray) -> np.ndarray:
    """Return how far the robot still drives after each step."""
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return np.append(np.cumsum(steps[::-1])[::-1], 0.0)


@pytest.mark.parametrize("step", [0.05, 0.037])
@holds(
    "api:MoveAction", "api:MoveAction.progress",
    fault="robots/actions/routing.py: the waypoint that is next does not count for the way that is left",
)  # fmt: skip
def test_feedback_of_a_route_is_what_is_driven_from_there(make_sim: Make, step: float) -> None:
    sim, robot = hall(make_sim, step, [(40, 43, 0, 41), (70, 72, 24, 60)])
    goals = [(3.1, 1.3), (8.3, 4.7), (8.9, 1.2)]
    poses = [fs.Pose.from_yaw(x, y, 0.0, 0.4) for x, y in goals]
    action = fs.MoveAction(poses, route=True, keep_height=True)
    places, said = driven(sim, robot, action)
    assert action.status == "completed" and robot.get_pose().yaw == pytest.approx(0.4)
    assert robot.position == pytest.approx((*goals[-1], 0.2))
    left = lengths_left(places)
    passed = [int(np.linalg.norm(places - goal, axis=1).argmin()) for goal in goals]
    assert passed == sorted(passed) and all(
        np.linalg.norm(places[at] - goal) < 1.1 * step for at, goal in zip(passed, goals, strict=True)
    )
    for number, feedback in enumerate(said[:-1]):
        # The last bit is driven exactly along the lines of the route.
        assert feedback["distance_left"] == pytest.approx(left[number], abs=0.02 + 1e-6)
        assert feedback["phase"] == "moving" and feedback["blocked_by"] == ""
        expected = sum(at > number + 1 for at in passed)
        assert feedback["poses_left"] in (expected, expected + 1)
    for feedback, at in zip([said[at - 2] for at in passed], range(3), strict=True):
        assert feedback["poses_left"] == 3 - at
    # Nowhere nearer to a wall than the robot is wide.
    for low, high, x0, x1 in ((0.0, 4.1, 4.0, 4.3), (2.4, 6.0, 7.0, 7.2)):
        away = np.hypot(
            np.maximum(np.maximum(x0 - places[:, 0], places[:, 0] - x1), 0.0),
            np.maximum(np.maximum(low - places[:, 1], places[:, 1] - high), 0.0),
        )
        assert away.min() >= RADIUS - 1e-6


@pytest.mark.parametrize(("kind", "step"), [("sliding", 0.05), ("double_sliding", 0.013)])
@holds(
    "api:MoveTo", "api:MoveTo.progress",
    fault="robots/actions/routing.py: a robot waits for a door half a metre before it is in reach of the leaf",
)  # fmt: skip
def test_a_robot_waits_for_a_door_where_its_leaf_could_touch_it(make_sim: Make, kind: str, step: float) -> None:
    sim, robot = hall(make_sim, step, [(60, 61, 0, 17), (60, 61, 27, 60)])
    time, thick, hold = 2.3, 0.06, 0.05
    door = {"kind": kind, "time": time, "thickness": thick, "hold": hold, "automatic": 0.25, "direction": -1}
    gate = build_door(sim, DoorSettings(name="gate", begin=(6.05, 1.7), end=(6.05, 2.7), **door))
    # On another floor: nobody waits for it, and it stays as it is.
    above = build_door(sim, DoorSettings(name="above", begin=(3.05, 1.6), end=(3.05, 2.8), floor=0.8, **door))
    action = fs.MoveTo(fs.Pose.from_yaw(8.7, 2.2, 0.0, 0.0), route=True)
    robot.set_pose(fs.Pose.from_yaw(1.04, 2.2, 0.2, 0.0))
    robot.add_action(action)
    waits, openings, xs = [], [], []
    while not action.is_complete() and sim.sim_time < 40.0:
        sim.step_once()
        said = action.progress(robot)
        if said["phase"] == "waiting":
            waits.append((robot.position[0], said["blocked_by"], sim.sim_time))
        openings.append(gate.opening)
        xs.append(float(robot.position[0]))
    assert action.status == "completed" and above.opening == 0.0
    # It keeps 0.05 m from the leaf and looks each 0.05 m, so it stops up to a look before.
    reach = 6.05 - 0.5 * thick - RADIUS - 0.05
    stops = [x for (x, _, _), (y, _, _) in itertools.pairwise(waits) if x == y]
    assert stops and {blocker for _, blocker, _ in waits} == {"gate"}
    assert reach - 0.05 - 1e-6 <= stops[-1] <= reach + 1e-6
    for x, opening in zip(xs, openings, strict=True):
        # Nobody is in reach of a leaf that is not open, and it stays open while somebody is.
        assert opening == 1.0 or not reach + 1e-6 < x < 6.05 + 0.5 * thick + RADIUS
    begin = waits[-1][2]
    assert begin - waits[0][2] <= time + 2 * step
    sim.close()


@pytest.mark.parametrize("step", [0.05, 0.037])
@holds("api:MoveAction.progress", fault="robots/actions/routing.py: of the ways between doors the bends are left out")
def test_two_doors_on_a_way_with_bends_are_waited_for_one_after_the_other(make_sim: Make, step: float) -> None:
    sim, robot = hall(make_sim, step, [(40, 43, 0, 20), (40, 43, 30, 60), (70, 73, 0, 36), (70, 73, 46, 60)])
    door = {"kind": "sliding", "time": 1.7, "thickness": 0.06, "hold": 0.05, "automatic": 0.25}
    gates = [
        build_door(sim, DoorSettings(name=name, begin=(x, low), end=(x, low + 1.0), **door))
        for name, x, low in (("first", 4.15, 2.0), ("second", 7.15, 3.6))
    ]
    goals = [(2.7, 0.9), (5.7, 1.4), (8.8, 4.9)]
    action = fs.MoveAction([fs.Pose.from_yaw(x, y, 0.0, 0.4) for x, y in goals], route=True, keep_height=True)
    openings = []
    sim.register_callback(lambda _sim, _dt: openings.append([gate.opening for gate in gates]))
    places, said = driven(sim, robot, action)
    assert action.status == "completed" and robot.position == pytest.approx((*goals[-1], 0.2))
    left, asked = lengths_left(places), np.array(openings)
    for number, feedback in enumerate(said[:-1]):
        assert feedback["distance_left"] == pytest.approx(left[number], abs=0.02 + 1e-6), number
    for name, x, opening in (("first", 4.15, asked[:, 0]), ("second", 7.15, asked[:, 1])):
        waits = [at for at, feedback in enumerate(said[:-1]) if feedback["blocked_by"] == name]
        assert waits and said[waits[-1]]["phase"] == "waiting" and waits[-1] - waits[0] <= (1.7 + 2 * step) / step
        # It waits within a look of where the leaf is in reach; the leaf stays open until it is past.
        edge = x - 0.03 - RADIUS - 0.05
        assert edge - 0.06 <= places[waits[-1], 0] <= edge + 0.02
        inside = (places[:, 0] > edge + 0.02) & (places[:, 0] < x + 0.03 + RADIUS)
        assert inside.any() and (opening[inside] == 1.0).all()
    # The second door is not asked for before the first one is passed.
    assert (asked[places[:, 0] < 4.1, 1] == 0.0).all()
    for goal in goals:
        assert np.linalg.norm(places - goal, axis=1).min() < 1.1 * step


@holds(
    "api:MoveTo",
    fault="robots/actions/routing.py: the open leaf of a door counts as if it were closed",
)  # fmt: skip
def test_a_leaf_that_would_stand_in_the_way_is_the_cause(make_sim: Make) -> None:
    sim, robot = hall(make_sim, 0.05, [(60, 61, 0, 17), (60, 61, 27, 60)])
    # Open, the leaf lies along the way, in its middle.
    build_door(sim, DoorSettings(name="swing", begin=(6.05, 2.15), end=(6.05, 3.0), kind="swing", automatic=1.0))
    action = fs.MoveTo(fs.Pose.from_yaw(8.7, 2.2, 0.0, 0.0), route=True)
    robot.add_action(action)
    sim.step_once()
    assert (
        action.status == "failed"
        and action.cause == "unreachable"
        and "open leaf of door 'swing'" in action.error_message
    )


@pytest.mark.parametrize("step", [0.05, 0.013])
@holds(
    "api:FollowAction",
    fault="robots/actions/follow.py: the bend of the arc is that of a circle of half the radius",
)  # fmt: skip
def test_a_curve_is_followed_at_the_speed_of_the_robot(make_sim: Make, step: float) -> None:
    sim = make_sim(timestep=step, collision_check_frequency=0.0, compiled_code="never")
    shape = fs.ShapeParams("cylinder", radius=RADIUS, height=0.4)
    limits = {"max_linear_vel": 0.8, "max_linear_accel": 0.9, "max_angular_vel": 1.1, "max_angular_accel": 4.0}
    robot = sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(1.0, 2.0, 0.2, 0.7), **limits))
    # An arc of 1.9 m radius to the left, a sharp corner, and one of 0.5 m to the right, which is too tight for 0.8 m/s.
    angles = np.linspace(0.0, 2.2, 60)
    left = np.column_stack((np.sin(angles), 1.0 - np.cos(angles))) * 1.9
    tight = np.linspace(0.0, 2.4, 60)
    right = np.column_stack((np.sin(tight), np.cos(tight) - 1.0)) * 0.5
    turn = lambda yaw: np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])  # noqa: E731
    first = left @ turn(0.7).T + [1.0, 2.0]
    corner = first[-1]
    points = np.concatenate((first, right[1:] @ turn(0.7 + 2.2 + 1.3).T + corner))
    action = fs.FollowAction([fs.Pose.from_yaw(x, y, 0.0, 0.3) for x, y in points.tolist()], keep_height=True)
    places, said = driven(sim, robot, action)
    assert action.status == "completed" and robot.get_pose().yaw == pytest.approx(0.3)
    assert places[-1] == pytest.approx(points[-1], abs=0.041)
    at_corner = int(np.linalg.norm(places - corner, axis=1).argmin())
    assert np.linalg.norm(places[at_corner] - corner) < 0.03
    centres = (np.array([0.0, 1.9]) @ turn(0.7).T + [1.0, 2.0], np.array([0.0, -0.5]) @ turn(0.7 + 3.5).T + corner)
    parts = (places[:at_corner], centres[0], 1.9, 0.02), (places[at_corner:], centres[1], 0.5, 0.04)
    for part, centre, radius, room in parts:
        assert np.abs(np.linalg.norm(part - centre, axis=1) - radius).max() < room
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / step
    # Even speed on the wide arc: what the robot can.
    assert speeds[: at_corner - 1].max() == pytest.approx(0.8, abs=1e-3)
    assert np.median(speeds[at_corner // 3 : 2 * at_corner // 3]) == pytest.approx(0.8, abs=1e-3)
    ends = lengths_left(places)
    for number, feedback in enumerate(said[:-1]):
        if feedback and number < at_corner - 3:
            assert feedback["distance_left"] == pytest.approx(ends[number], abs=0.1)
    # To the corner: a trapezoid that counts on 0.8 of the acceleration for braking.
    way, up, down = 1.9 * 2.2, 0.9, 0.72
    ideal = way / 0.8 + 0.5 * 0.8 / up + 0.5 * 0.8 / down
    there = int(np.flatnonzero(np.linalg.norm(places - corner, axis=1) < 0.03)[0])
    # The last 3 cm take 0.29 s.
    assert ideal - 0.29 <= step * there <= ideal + 0.1


@pytest.mark.parametrize("turns", [0.3, 0.9, 2.5])
@holds("api:FollowAction", fault="robots/actions/follow.py: who begins to turn slowly looks no farther than others")
def test_who_begins_to_turn_slowly_does_not_swing_about_a_path(make_sim: Make, turns: float) -> None:
    sim = make_sim(timestep=0.05, collision_check_frequency=0.0, compiled_code="never")
    shape = fs.ShapeParams("cylinder", radius=RADIUS, height=0.4)
    limits = {"max_linear_vel": 1.1, "max_linear_accel": 0.9, "max_angular_vel": 1.7, "max_angular_accel": turns}
    robot = sim.spawn(fs.AgentSpawnParams(shape, shape, fs.Pose.from_yaw(0.3, -0.2, 0.2, 0.7), **limits))
    # Straight on, a bend by 0.6 rad in 0.8 m, straight on.
    yaws = 0.7 + np.cumsum(np.r_[np.zeros(20), np.full(8, 0.075), np.zeros(22)])
    points = np.cumsum(0.1 * np.column_stack((np.cos(yaws), np.sin(yaws))), axis=0) + (0.3, -0.2)
    action = fs.FollowAction([fs.Pose.from_yaw(x, y, 0.0, 1.3) for x, y in points.tolist()], keep_height=True)
    places, _ = driven(sim, robot, action)
    lines = np.diff(points, axis=0)
    assert action.status == "completed"
    away = places[:, None] - points[:-1]
    along = np.clip((away * lines).sum(axis=2) / 0.01, 0.0, 1.0)
    beside = np.linalg.norm(away - along[..., None] * lines, axis=2).min(axis=1)
    # The first decimetre leads to the path.
    assert beside[np.linalg.norm(places - places[0], axis=1) > 0.1].max() < 0.025
    assert lengths_left(places)[0] == pytest.approx(4.9, abs=0.1)


def cubic(times: np.ndarray, points: np.ndarray, rates: np.ndarray, at: float) -> tuple[np.ndarray, np.ndarray]:
    """Return place and rate at a time on the polynomials with given points and rates at both ends of each piece."""
    piece = min(int(np.searchsorted(times, at, "right")) - 1, len(times) - 2)
    ends = times[piece : piece + 2]
    rows = [[t**n for n in range(4)] for t in ends] + [[n * t ** max(n - 1, 0) for n in range(4)] for t in ends]
    factors = np.linalg.solve(rows, np.concatenate((points[piece : piece + 2], rates[piece : piece + 2])))
    return [at**n for n in range(4)] @ factors, [n * at ** max(n - 1, 0) for n in range(4)] @ factors


@pytest.mark.parametrize("step", [0.05, 0.013])
@holds(
    "api:JointTrajectoryAction", "api:JointTrajectoryAction.progress",
    fault="robots/actions/joints.py: the cubic has twice the velocity at its end",
)  # fmt: skip
def test_joints_are_on_the_cubics_through_their_points(make_sim: Make, tmp_path: Path, step: float) -> None:
    sim = make_sim(timestep=step)
    robot = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", use_fixed_base=True, joint_tolerance=0.002))
    names = ["joint_2", "joint_4"]
    slow = robot.robot_model.max_velocities[[robot.joint_names.index(name) for name in names]]
    times = np.array([0.7, 1.9, 2.4])
    points = np.array([[0.3, -0.2], [-0.5, 0.35], [-0.2, 0.1]])
    rates = np.array([[0.2, 0.1], [-0.3, 0.15], [0.0, 0.0]])
    robot.set_joint_positions({"joint_2": 0.1, "joint_4": 0.05})
    for _ in range(3):
        sim.step_once()
    begin = sim.sim_time
    curve = np.append(0.0, times), np.vstack(([0.1, 0.05], points)), np.vstack(([0.0, 0.0], rates))
    assert all((np.abs(cubic(*curve, at)[1]) < slow).all() for at in np.linspace(0.0, 2.4, 241))
    action = fs.JointTrajectoryAction(names, times.tolist(), points.tolist(), rates.tolist(), path_tolerance=1e-6)
    robot.add_action(action)
    while not action.is_complete() and sim.sim_time < 9.0:
        sim.step_once()
        at = sim.sim_time - begin
        if at < 2.4 - 1e-9:
            state = np.array([robot.get_joint_state(name) for name in names])
            place, rate = cubic(*curve, at)
            assert state[:, 0] == pytest.approx(place, abs=1e-9)
            said = action.progress(robot)
            assert said["desired"][0] == pytest.approx(place, abs=1e-9)
            assert said["desired"][1] == pytest.approx(rate, abs=1e-9)
            assert said["distance_left"] == pytest.approx(2.4 - at) and said["phase"] == "following"
    assert action.status == "completed" and 2.4 - 1e-9 <= action.get_duration() <= 2.4 + step + 1e-9
    # Too fast for its joints: on the way they are too far off, or late at the end.
    rush, span = [[1.3, 0.0]], 1.3 + 0.2
    time = 0.6 * span / float(slow[0])
    for tolerances, cause in (
        ({"path_tolerance": {"joint_2": 0.1}}, "PATH_TOLERANCE"),
        ({"goal_tolerance": 0.01, "goal_time_tolerance": 0.1}, "GOAL_TOLERANCE"),
        ({"goal_time_tolerance": 5.0}, None),
    ):
        robot.set_joint_positions({"joint_2": -0.2, "joint_4": 0.0})
        action, begin = fs.JointTrajectoryAction(names, [time], rush, **tolerances), sim.sim_time
        robot.add_action(action)
        while not action.is_complete() and sim.sim_time < begin + 9.0:
            sim.step_once()
        took = sim.sim_time - begin
        if cause is None:
            assert action.status == "completed" and took == pytest.approx(span / float(slow[0]), abs=2.01 * step)
            continue
        assert action.status == "failed" and action.trajectory_cause.name == cause
        # Behind by the difference of both speeds, from the first step on.
        lag = 0.1 / (span / time - float(slow[0])) if cause == "PATH_TOLERANCE" else time + 0.1
        assert lag - 1e-9 <= took <= lag + 2.01 * step
