"""navigate_to_pose, navigate_through_poses and follow_waypoints, compatible with Nav2.

Where the scenario has a site, robots take a route around its walls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathToPose, FollowWaypoints, NavigateThroughPoses, NavigateToPose

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Path
from fleet_sim.robots.actions.action import Action
from fleet_sim.robots.actions.drive import MoveAction, MoveTo, TourAction
from fleet_sim.ros.actions import CODES, ActionKind, GoalOutcome, GoalReader, Progress
from fleet_sim.ros.messages import duration_to_msg, pose_to_msg
from fleet_sim_msgs.msg import Cause

# What the results of Nav2's actions have in common: error codes and times.


PLANNER = {
    Cause.UNKNOWN_FRAME: "TF_ERROR",
    Cause.INVALID_GOAL: "GOAL_OCCUPIED",
    Cause.UNREACHABLE: "NO_VALID_PATH",
    Cause.BLOCKED: "NO_VALID_PATH",
    Cause.TIMEOUT: "TIMEOUT",
}
"""Causes and the names of the planner's codes. A goal that is no free place counts as occupied."""


def navigation_kind(name: str, kind: Any, build: Any, result: Any, feedback: Any, succeeded: Any = None) -> ActionKind:
    """Return an action that each robot serves where Nav2's interface is on; see ActionKind."""
    return ActionKind(
        *(name, kind, build, result, feedback),
        per_fleet=False,
        navigation=True,
        asked_for=lambda params: params.nav2.enabled,
        succeeded=succeeded,
    )


def told(result: Any, outcome: GoalOutcome, names: Mapping[int, str], codes: Any = None) -> Any:
    """Return `result` with the code of the outcome and its reason, where its version of Nav2 has such fields.

    `names` are those of the codes by cause, `codes` the class that has them, by default that of the result. Others
    are UNKNOWN; a goal that was cancelled or preempted has no error, as in Nav2.
    """
    ended = outcome.cause in (Cause.NONE, Cause.CANCELED, Cause.PREEMPTED)
    code = 0 if ended else int(getattr(codes or type(result), names.get(outcome.cause, "UNKNOWN"), 0))
    return with_error(result, code, outcome.text)


def with_error(result: Any, code: int, text: str) -> Any:
    """Return `result` with Nav2's code and text of an error; older versions of Nav2 have neither."""
    for field, value in (("error_code", code), ("error_msg", text)):
        if hasattr(result, field):
            setattr(result, field, value)
    return result


def timed(result: Any, outcome: GoalOutcome) -> Any:
    """Return `result` of a behaviour with the time that it took."""
    result.total_elapsed_time = duration_to_msg(outcome.duration)
    return result


def check_plugin(given: str, known: str, field: str) -> None:
    """Raise InvalidValueError for another plugin than the only one that there is."""
    if given not in ("", known):
        raise InvalidValueError(f"{field}: only {known!r} is here; leave it empty, got {given[:80]!r}")


def check_no_tree(tree: str) -> None:
    """Raise InvalidValueError where a behaviour tree is asked for."""
    if tree:
        raise InvalidValueError(f"behavior_tree: none can be run here; leave it empty, got {tree[:80]!r}")


# Waypoints of Nav2's goals: as a tour, and in feedback and results.


# The list's elements are another message in later versions of Nav2.
try:
    from nav2_msgs.msg import MissedWaypoint as _MISSED
except ImportError:
    from nav2_msgs.msg import WaypointStatus as _MISSED

MOST_WAYPOINTS = 100_000
"""In one goal, its repetitions counted."""


def goals_of(poses: Any) -> Sequence[PoseStamped]:
    """Return the poses of a goal: later versions of Nav2 have them in a message nav_msgs/Goals."""
    found: Sequence[PoseStamped] = getattr(poses, "goals", poses)
    if len(found) > MOST_WAYPOINTS:
        raise InvalidValueError(f"poses: at most {MOST_WAYPOINTS}, got {len(found)}")
    return found


def tour_of(goal: Any, stamped: Sequence[PoseStamped], reader: GoalReader) -> Action:
    """Return the tour of a goal with waypoints, which are `stamped`."""
    poses = [reader.pose(one) for one in stamped]
    if goal.goal_index and goal.goal_index >= len(poses):
        raise InvalidValueError(f"goal_index: there are {len(poses)} poses, got {goal.goal_index}")
    if len(poses) * (goal.number_of_loops + 1) > MOST_WAYPOINTS:
        raise InvalidValueError(f"number_of_loops: at most {MOST_WAYPOINTS} poses in all, got {goal.number_of_loops}")
    whole = poses[goal.goal_index :] + poses * goal.number_of_loops
    return TourAction(Path(whole), route=reader.has_routes, skip_missed=True, keep_height=True)


def waypoints_kind(name: str, kind: Any, build: Any) -> ActionKind:
    """Return an action of waypoints, which tells the one that is driven to and those that were missed."""
    return navigation_kind(name, kind, build, partial(_result, kind), partial(_feedback, kind))


def _feedback(kind: Any, progress: Progress) -> Any:
    """Return the feedback of an action of `kind`: the waypoint that the robot drives to."""
    index = progress.action.index if isinstance(progress.action, TourAction) else 0
    return kind.Feedback(current_waypoint=_number(progress.request, index))


def _result(kind: Any, outcome: GoalOutcome) -> Any:
    """Return the result of an action of `kind`, with the waypoints that were missed."""
    action, result = outcome.action, told(kind.Result(), outcome, {})
    if isinstance(action, TourAction):
        for index, cause in action.missed:
            number = _number(outcome.request, index)
            pose = _given(outcome.request)[number]
            if not isinstance(pose, PoseStamped):
                # It is in degrees. In the frame of the map, as a pose without a frame is.
                pose = PoseStamped(pose=pose_to_msg(action.path[index]))
            result.missed_waypoints.append(_missed(number, pose, CODES[cause]))
    return result


def _given(goal: Any) -> Sequence[Any]:
    """Return the waypoints of a goal: stamped poses, or places in degrees."""
    found: Sequence[Any] = goal.gps_poses if hasattr(goal, "gps_poses") else goals_of(goal.poses)
    return found


def _number(goal: Any, index: int) -> int:
    """Return the number in the goal of the pose `index` of its tour."""
    return int(goal.goal_index + index) % max(len(_given(goal)), 1)


def _missed(number: int, pose: PoseStamped, cause: int) -> Any:
    """Return the message that tells of a waypoint that could not be reached, and why."""
    code = getattr(ComputePathToPose.Result, PLANNER.get(cause, "UNKNOWN"))
    if hasattr(_MISSED, "waypoint_pose"):
        return _MISSED(waypoint_index=number, waypoint_pose=pose, error_code=code)
    return _MISSED(index=number, goal=pose, error_code=code)


def _to_pose(goal: Any, reader: GoalReader) -> Action:
    check_no_tree(goal.behavior_tree)
    return MoveTo(reader.pose(goal.pose), route=reader.has_routes, keep_height=True)


def _through_poses(goal: Any, reader: GoalReader) -> Action:
    check_no_tree(goal.behavior_tree)
    poses = [reader.pose(stamped) for stamped in goals_of(goal.poses)]
    return MoveAction(Path(poses), route=reader.has_routes, keep_height=True)


def _navigate_feedback(kind: Any, progress: Progress) -> Any:
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
    feedback = _navigate_feedback(NavigateThroughPoses, progress)
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
    lambda progress: _navigate_feedback(NavigateToPose, progress),
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
