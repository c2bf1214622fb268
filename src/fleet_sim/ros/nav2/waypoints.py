"""Waypoints of Nav2's goals: as a tour, and in feedback and results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathToPose

from fleet_sim.actions.base import Action
from fleet_sim.actions.tour import TourAction
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Path
from fleet_sim.ros.actions.goals import CODES
from fleet_sim.ros.actions.kind import ActionKind, GoalOutcome, GoalReader, Progress
from fleet_sim.ros.conversions import pose_to_msg
from fleet_sim.ros.nav2.results import PLANNER, navigation_kind, told

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
