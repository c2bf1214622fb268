"""navigate_to_pose, navigate_through_poses and follow_waypoints, compatible with Nav2.

Where the scenario has a site, robots take a route around its walls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathToPose, FollowWaypoints, NavigateThroughPoses, NavigateToPose

from fleet_sim.actions.base import Action
from fleet_sim.actions.move_to import MoveAction, MoveTo
from fleet_sim.actions.tour import TourAction
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Path
from fleet_sim.ros.actions.goals import CODES
from fleet_sim.ros.actions.kind import ActionKind, GoalOutcome, GoalReader, Progress
from fleet_sim.ros.nav2.results import PLANNER, check_no_tree, duration_to_msg, is_on, told

MOST_WAYPOINTS = 100_000
"""In one goal, its repetitions counted."""


def goals_of(poses: Any) -> Sequence[PoseStamped]:
    """Return the poses of a goal: later versions of Nav2 have them in a message nav_msgs/Goals."""
    found: Sequence[PoseStamped] = getattr(poses, "goals", poses)
    if len(found) > MOST_WAYPOINTS:
        raise InvalidValueError(f"poses: at most {MOST_WAYPOINTS}, got {len(found)}")
    return found


def _to_pose(goal: Any, reader: GoalReader) -> Action:
    check_no_tree(goal.behavior_tree)
    return MoveTo(reader.pose(goal.pose), route=reader.has_routes, keep_height=True)


def _through_poses(goal: Any, reader: GoalReader) -> Action:
    check_no_tree(goal.behavior_tree)
    poses = [reader.pose(stamped) for stamped in goals_of(goal.poses)]
    return MoveAction(Path(poses), route=reader.has_routes, keep_height=True)


def _feedback(kind: Any, progress: Progress) -> Any:
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


def tour_of(goal: Any, stamped: Sequence[PoseStamped], reader: GoalReader) -> Action:
    """Return the tour of a goal with waypoints, which are `stamped`."""
    poses = [reader.pose(one) for one in stamped]
    if goal.goal_index and goal.goal_index >= len(poses):
        raise InvalidValueError(f"goal_index: there are {len(poses)} poses, got {goal.goal_index}")
    if len(poses) * (goal.number_of_loops + 1) > MOST_WAYPOINTS:
        raise InvalidValueError(f"number_of_loops: at most {MOST_WAYPOINTS} poses in all, got {goal.number_of_loops}")
    whole = poses[goal.goal_index :] + poses * goal.number_of_loops
    return TourAction(Path(whole), route=reader.has_routes, skip_missed=True, keep_height=True)


def _waypoints(goal: Any, reader: GoalReader) -> Action:
    return tour_of(goal, goals_of(goal.poses), reader)


def waypoint_number(goal: Any, count: int, index: int) -> int:
    """Return the number in the message of the pose `index` of the tour; `count` is how many the message has."""
    return int(goal.goal_index + index) % max(count, 1)


def _waypoints_feedback(progress: Progress) -> Any:
    action, goal = progress.action, progress.request
    index = action.index if isinstance(action, TourAction) else 0
    return FollowWaypoints.Feedback(current_waypoint=waypoint_number(goal, len(goals_of(goal.poses)), index))


def _waypoints_result(outcome: GoalOutcome) -> Any:
    result = told(FollowWaypoints.Result(), outcome, {})
    if isinstance(outcome.action, TourAction):
        poses = goals_of(outcome.request.poses)
        for index, cause in outcome.action.missed:
            number = waypoint_number(outcome.request, len(poses), index)
            result.missed_waypoints.append(missed_waypoint(number, poses[number], CODES[cause]))
    return result


def missed_waypoint(number: int, pose: PoseStamped, cause: int) -> Any:
    """Return the message that tells of a waypoint that could not be reached, and why."""
    code = getattr(ComputePathToPose.Result, PLANNER.get(cause, "UNKNOWN"))
    if hasattr(_MISSED, "waypoint_pose"):
        return _MISSED(waypoint_index=number, waypoint_pose=pose, error_code=code)
    return _MISSED(index=number, goal=pose, error_code=code)


# The list's elements are another message in later versions of Nav2.
try:
    from nav2_msgs.msg import MissedWaypoint as _MISSED
except ImportError:
    from nav2_msgs.msg import WaypointStatus as _MISSED

NAVIGATE_TO_POSE = ActionKind(
    "navigate_to_pose",
    NavigateToPose,
    _to_pose,
    lambda outcome: told(NavigateToPose.Result(), outcome, PLANNER, ComputePathToPose.Result),
    lambda progress: _feedback(NavigateToPose, progress),
    per_fleet=False,
    navigation=True,
)
NAVIGATE_THROUGH_POSES = ActionKind(
    "navigate_through_poses",
    NavigateThroughPoses,
    _through_poses,
    lambda outcome: told(NavigateThroughPoses.Result(), outcome, PLANNER, ComputePathToPose.Result),
    _through_feedback,
    per_fleet=False,
    navigation=True,
    asked_for=is_on,
)
FOLLOW_WAYPOINTS = ActionKind(
    "follow_waypoints",
    FollowWaypoints,
    _waypoints,
    _waypoints_result,
    _waypoints_feedback,
    per_fleet=False,
    navigation=True,
    asked_for=is_on,
)
