"""Paths with curves: driven without a stop at each pose, and not far beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.arrays import Floats
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import ActionCause, ActionStatus
from fleet_sim.robots.actions import FollowAction

CONTROLLER = {"type": "differential", "max_linear_vel": 1.0, "max_angular_vel": 3.0, "max_linear_accel": 2.0}


def scenario(**entry: Any) -> dict[str, Any]:
    robot = {"name": "a", "pose": [0.0, 0.0, 0.1], "controller": CONTROLLER, **entry}
    return {"simulation": {"gui": False, "timestep": 0.02}, "robots": [robot]}


def arc(radius: float = 2.0, count: int = 32) -> Floats:
    """Return points (count, 2) of a half circle that begins along x."""
    angles = np.linspace(0.0, np.pi, count)
    return np.stack((radius * np.sin(angles), radius * (1.0 - np.cos(angles))), axis=1)


def path_of(points: Floats, yaw: float) -> list[Pose]:
    return [Pose.from_euler(x, y, 0.0, 0.0, 0.0, yaw) for x, y in points.tolist()]


def drive(config: dict[str, Any], action: FollowAction, most: int = 3000) -> tuple[Floats, Floats]:
    """Return the places (N, 3) of the robot and its speeds (N,), step by step."""
    places, speeds = [], []
    with MultiRobotSimulationCore.from_dict(config) as sim:
        robot = sim.agents[0]
        robot.add_action(action)
        for _ in range(most):
            sim.step_once()
            places.append(robot.get_pose().position)
            speeds.append(float(np.linalg.norm(robot.velocity)))
            if action.is_complete():
                break
    return np.array(places), np.array(speeds)


@pytest.mark.parametrize("limits", [{}, {"max_linear_vel": 1e3, "max_angular_vel": 1e3}, {"max_angular_accel": 2.0}])
def test_neither_fast_robots_nor_slow_ones_leave_the_curve(limits: dict[str, float]) -> None:
    action = FollowAction(path_of(arc(), np.pi), keep_height=True)
    places, _ = drive(scenario(controller={"type": "differential", **limits}), action)
    assert action.status is ActionStatus.COMPLETED
    assert np.abs(np.hypot(places[:, 0], places[:, 1] - 2.0) - 2.0).max() < 0.05


def test_others_are_driven_as_by_a_move_action() -> None:
    omni = scenario(controller={"type": "omni", "max_linear_vel": 1.0})
    action = FollowAction(path_of(arc(), 0.0), keep_height=True)
    places, _ = drive(omni, action)
    assert action.status is ActionStatus.COMPLETED and places[-1] == pytest.approx([0.0, 4.0, 0.1], abs=1e-9)
    fixed = FollowAction(path_of(arc(), 0.0))
    drive(scenario(controller=None, use_fixed_base=True), fixed)
    assert (fixed.status, fixed.cause) == (ActionStatus.FAILED, ActionCause.UNREACHABLE)
    empty = FollowAction([])
    drive(scenario(), empty)
    assert empty.cause is ActionCause.INVALID_GOAL
