"""follow_joint_trajectory, compatible with ros2_control; served if control_msgs is installed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from control_msgs.action import FollowJointTrajectory

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.robots.actions.action import Action
from fleet_sim.robots.actions.joints import JointTrajectoryAction, TrajectoryCause
from fleet_sim.ros.actions import ActionKind, GoalOutcome, GoalReader, Progress
from fleet_sim.ros.messages import duration_from_msg, has_joints
from fleet_sim.ros.robot_commands import point_to_msg, trajectory_from_msg
from fleet_sim_msgs.msg import Cause

_Result = FollowJointTrajectory.Result
CODES = {
    TrajectoryCause.INVALID_GOAL: _Result.INVALID_GOAL,
    TrajectoryCause.INVALID_JOINTS: _Result.INVALID_JOINTS,
    TrajectoryCause.OLD: _Result.OLD_HEADER_TIMESTAMP,
    TrajectoryCause.PATH_TOLERANCE: _Result.PATH_TOLERANCE_VIOLATED,
    TrajectoryCause.GOAL_TOLERANCE: _Result.GOAL_TOLERANCE_VIOLATED,
}


def _build(goal: Any, reader: GoalReader) -> Action:
    """Return the action of a goal; raises InvalidValueError for joints of several degrees of freedom."""
    if goal.multi_dof_trajectory.points:
        raise InvalidValueError("multi_dof_trajectory: joints have one degree of freedom each; leave it empty")
    # In the message 0 means that no limit is given.
    late = duration_from_msg(goal.goal_time_tolerance)
    return trajectory_from_msg(
        goal.trajectory,
        path_tolerance=_tolerances(goal.path_tolerance),
        goal_tolerance=_tolerances(goal.goal_tolerance),
        goal_time_tolerance=late if late > 0.0 else None,
        start_time_wanted=reader.time(goal.trajectory.header.stamp),
    )


def _feedback(progress: Progress) -> Any:
    """Return where the joints are, where they should be, and the difference."""
    details = progress.details
    desired, actual = details["desired"], details["actual"]
    message = FollowJointTrajectory.Feedback(
        joint_names=list(details["joint_names"]),
        desired=point_to_msg(*desired),
        actual=point_to_msg(*actual),
        error=point_to_msg(desired[0] - actual[0], desired[1] - actual[1]),
    )
    message.header.stamp = progress.pose.header.stamp
    return message


def _tolerances(messages: Sequence[Any]) -> dict[str, float]:
    """Return the position tolerances by joint: 0 keeps the default, a negative value removes the limit."""
    return {
        message.name: message.position if message.position > 0.0 else math.inf
        for message in messages
        if message.position != 0.0
    }


def _result(outcome: GoalOutcome) -> Any:
    """Return the result; a preempted goal has INVALID_GOAL, as in ros2_control."""
    # A goal that failed has text as well; the code says what a program can act on.
    result = _Result(error_string=outcome.text)
    if isinstance(outcome.action, JointTrajectoryAction) and outcome.action.trajectory_cause is not None:
        result.error_code = CODES[outcome.action.trajectory_cause]
    elif outcome.cause not in (Cause.NONE, Cause.CANCELED):
        result.error_code = _Result.INVALID_GOAL
    return result


FOLLOW_JOINT_TRAJECTORY = ActionKind(
    "follow_joint_trajectory",
    FollowJointTrajectory,
    _build,
    _result,
    _feedback,
    per_fleet=False,
    serves=has_joints,
    of_joints=True,
)
"""Served for robots that have joints."""
