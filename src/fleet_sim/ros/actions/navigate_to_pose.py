"""navigate_to_pose, compatible with Nav2; served if nav2_msgs is installed. Behaviour trees are not run.

Where the scenario has a site, robots take a route around its walls.
"""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Duration
from nav2_msgs.action import NavigateToPose

from fleet_sim.actions.base import Action
from fleet_sim.actions.move_to import MoveTo
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.actions.kind import ActionKind, GoalOutcome, GoalReader, Progress
from fleet_sim.ros.conversions import time_to_msg


def _build(goal: Any, reader: GoalReader) -> Action:
    if goal.behavior_tree:
        raise InvalidValueError(f"behavior_tree: none can be run here; leave it empty, got {goal.behavior_tree!r}")
    return MoveTo(reader.pose(goal.pose), route=reader.has_routes)


def _result(outcome: GoalOutcome) -> Any:
    result = NavigateToPose.Result()
    # These fields exist only in later versions of Nav2.
    for field, value in (("error_code", outcome.cause), ("error_msg", outcome.text)):
        if hasattr(result, field):
            setattr(result, field, value)
    return result


def _feedback(progress: Progress) -> Any:
    passed = time_to_msg(int(progress.duration * 1e9))
    return NavigateToPose.Feedback(
        current_pose=progress.pose,
        navigation_time=Duration(sec=passed.sec, nanosec=passed.nanosec),
        distance_remaining=progress.distance_left,
    )


NAVIGATE_TO_POSE = ActionKind("navigate_to_pose", NavigateToPose, _build, _result, _feedback, per_fleet=False)
