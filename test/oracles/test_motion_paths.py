"""Robots on paths of many lines, against the definition: along the lines, within the limits, to the tolerance."""

from __future__ import annotations

import math

import driven
import numpy as np
import pytest
from driven import FORMS, YAW, Run, distances, limits, steps_of, turned
from oracle_rows import holds

import fleet_sim as fs


def corners(start: fs.Pose, seed: int) -> np.ndarray:
    """A line with corners of all kinds, unequal legs, two of them on one line and one point twice."""
    rng = np.random.default_rng(seed)
    turns = np.cumsum(np.concatenate(([rng.uniform(-3, 3)], rng.uniform(-1.9, 1.9, 2), [0.0], rng.uniform(-1, 1, 2))))
    legs = rng.uniform(0.12, 0.6, len(turns))
    points = np.cumsum(np.stack((legs * np.cos(turns), legs * np.sin(turns), 0.1 * legs), axis=1), axis=0)
    points = np.insert(points, 2, points[1], axis=0)
    return np.asarray(np.array(start.position) + points)


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_path", "api:Agent.velocity",
    fault="robots/motion/path.py: robots pass corners at speeds at which the velocity changes by 2 a dt",
)  # fmt: skip
def test_a_path_is_driven_along_its_lines_within_the_limits(form: driven.Form) -> None:
    run = Run(form, "omnidirectional", limits)
    lines = [corners(start, index) for index, start in enumerate(run.starts)]
    for robot, line in zip(run.robots, lines, strict=True):
        robot.set_path([fs.Pose.from_yaw(*point, YAW) for point in line], final_orientation_align=False)
    run.until_all_stand()
    for index, line in enumerate(lines):
        own, move = limits(index), run.of(index)
        line = np.concatenate((move.positions[:1], line))
        along, off = distances(line, move.positions)
        assert off.max() < 1e-9
        assert (np.diff(along) >= 0.0).all()
        speeds = np.linalg.norm(move.velocities, axis=1)
        ways, means = np.diff(along), 0.5 * (speeds[1:] + speeds[:-1]) * form.dt
        assert np.abs(ways - means)[:-1].max() < 1e-8
        changes = np.linalg.norm(np.diff(move.velocities, axis=0), axis=1)
        assert changes.max() <= own["max_linear_accel"] * form.dt * (1.0 + 1e-7)
        assert speeds.max() <= own["max_linear_vel"] * (1.0 + 1e-9)
        driven.check_last_step(move, own["max_linear_accel"], form.dt)
        # Slower than on a straight line, and at rest at the end alone.
        total = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        ideal = steps_of(total, own["max_linear_vel"], own["max_linear_accel"], form.dt)
        assert speeds[1:-1].min() > 0.0 and len(ways) >= ideal
        assert tuple(move.positions[-1]) == tuple(line[-1])


@pytest.mark.parametrize("form", FORMS, ids=str)
@holds(
    "api:Agent.set_path", "api:Agent.current_waypoint_index",
    fault="robots/motion/driving.py: the robot does not stop where its path bends",
)  # fmt: skip
def test_a_differential_robot_stops_at_corners_only(form: driven.Form) -> None:
    run = Run(form, "differential", limits)
    lines = [corners(start, index) for index, start in enumerate(run.starts)]
    for robot, line in zip(run.robots, lines, strict=True):
        robot.set_path([fs.Pose.from_yaw(*point, YAW) for point in line])
    run.until_all_stand()
    for index, (start, line) in enumerate(zip(run.starts, lines, strict=True)):
        own, move = limits(index), run.of(index)
        # On one line from corner to corner.
        points = np.concatenate((np.array([start.position]), line))[[0, 1, 2, 4 + 1, 6, 7]]
        courses = np.arctan2(*np.diff(points, axis=0).T[1::-1])
        turns = turned(np.diff(np.concatenate(([start.yaw], courses, [YAW]))))
        lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
        ideal = sum(steps_of(way, own["max_linear_vel"], own["max_linear_accel"], form.dt) for way in lengths)
        ideal += sum(steps_of(abs(w), own["max_angular_vel"], own["max_angular_accel"], form.dt) for w in turns)
        assert ideal <= len(move.positions) - 1 <= ideal + 2 * (len(lengths) + len(turns))
        _, off = distances(points, move.positions)
        assert off.max() < 1e-9
        stands = (move.velocities == 0.0).all(axis=1) & (np.linalg.norm(move.spins, axis=1) > 0.0)
        for corner in points[1:-1]:
            assert stands[(move.positions == corner).all(axis=1)].any()
        driven.check_step(move, own["max_linear_accel"], form.dt, own["max_linear_vel"])


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("mode", ["omnidirectional", "differential"])
@holds(
    "api:MoveTo.tolerance", "api:Agent.position",
    fault="robots/motion/driving.py: the tolerance is taken off twice",
)  # fmt: skip
def test_with_a_tolerance_the_way_ends_that_far_before_the_goal(form: driven.Form, mode: str) -> None:
    run = Run(form, mode, limits)
    wanted = [
        fs.Pose.from_yaw(start.x + 1.3 * math.cos(index + YAW), start.y + 1.3 * math.sin(index + YAW), start.z, 2.0)
        for index, start in enumerate(run.starts)
    ]
    for index, (robot, goal) in enumerate(zip(run.robots, wanted, strict=True)):
        robot.add_action(fs.MoveTo(goal, tolerance=0.07 + 0.01 * (index % 9), final_orientation_align=False))
    run.steps(2)
    run.until_all_stand()
    for index, goal in enumerate(wanted):
        own, move, tolerance = limits(index), run.of(index), 0.07 + 0.01 * (index % 9)
        start, end = move.positions[0], np.array(goal.position)
        short = end - (end - start) / 1.3 * tolerance
        assert np.linalg.norm(move.positions[-1] - short) < 1e-8
        assert np.linalg.norm(move.positions[-1] - end) <= tolerance
        driven.check_step(move, own["max_linear_accel"], form.dt, own["max_linear_vel"])
