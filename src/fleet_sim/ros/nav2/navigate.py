"""navigate_to_pose, navigate_through_poses and follow_waypoints, compatible with Nav2.

Where the scenario has a site, robots take a route around its walls.
"""

from __future__ import annotations

from typing import Any

from nav2_msgs.action import ComputePathToPose, FollowWaypoints, NavigateThroughPoses, NavigateToPose

from fleet_sim.actions.base import Action
from fleet_sim.actions.move_along import MoveAction
from fleet_sim.actions.move_to import MoveTo
from fleet_sim.geometry import Path
from fleet_sim.ros.actions.kind import ActionKind, GoalReader, Progress
from fleet_sim.ros.conversions import duration_to_msg
from fleet_sim.ros.nav2.results import PLANNER, check_no_tree, navigation_kind, told
from fleet_sim.ros.nav2.waypoints import goals_of, tour_of, waypoints_kind


def _to_pose(goal: Any, reader: GoalReader) -> Action:
    check_no_tree(goal.behavior_tree)
    return MoveTo(reader.pose(goal.pose), route=reader.has_routes, keep_height=True)


def _through_poses(goal: Any, reader: GoalReader) -> Action:
    check_no_tree(goal.behavior_tree)
    poses = [reader.pose(stamped) for stamped in goals_of(goal.poses)]
    return MoveAction(Path(poses), route=reader.has_routes, keep_height=True)


def _feedback(kind: Any, progress: Progress) -> Any:
    """Return the distance and the time that are left, the latter as Nav2 estimates it."""
    feedback = kind.Feedback(
        current_pose=progress.pose,
        navigation_time=duration_to_msg(progress.duration),
        distance_remaining=progress.distance_left,
    )
    driven = progress.fraction * progress.distance_left / max(1.0 - progress.fraction, 1e-9)
    if driven > 0.0:
        # At the mean speed until now, as Nav2 estimates it.
        rest = progress.distance_left * progress.duration / driven
        feedback.estimated_time_remaining = duration_to_msg(min(rest, 1e6))
    return feedback


def _through_feedback(progress: Progress) -> Any:
    feedback = _feedback(NavigateThroughPoses, progress)
    # Nav2 counts the last pose until the result. Here a robot may stand at it when feedback is published.
    feedback.number_of_poses_remaining = max(1, int(progress.details["poses_left"]))
    return feedback


def _waypoints(goal: Any, reader: GoalReader) -> Action:
    return tour_of(goal, goals_of(goal.poses), reader)


NAVIGATE_TO_POSE = ActionKind(
    "navigate_to_pose",
    NavigateToPose,
    _to_pose,
    lambda outcome: told(NavigateToPose.Result(), outcome, PLANNER, ComputePathToPose.Result),
    lambda progress: _feedback(NavigateToPose, progress),
    per_fleet=False,
    navigation=True,
)
NAVIGATE_THROUGH_POSES = navigation_kind(
    "navigate_through_poses",
    NavigateThroughPoses,
    _through_poses,
    lambda outcome: told(NavigateThroughPoses.Result(), outcome, PLANNER, ComputePathToPose.Result),
    _through_feedback,
)
FOLLOW_WAYPOINTS = waypoints_kind("follow_waypoints", FollowWaypoints, _waypoints)
