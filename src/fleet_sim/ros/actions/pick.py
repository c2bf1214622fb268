"""pick: take an object."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.actions.pick import PickAction
from fleet_sim.ros.actions.kind import ActionKind, Place, timeout_of
from fleet_sim.ros.conversions import pose_from_msg
from fleet_sim_msgs.action import Pick


def _build(goal: Any, place: Place) -> Action:
    around = PoseStamped(header=goal.position.header)
    around.pose.position = goal.position.point
    return PickAction(
        target_object_id=goal.object or None,
        target_position=place(around).position if goal.use_position else None,
        search_radius=goal.search_radius,
        use_approach=goal.use_approach,
        approach_offset=goal.approach_offset,
        pick_offset=goal.pick_offset,
        attach_relative_pose=pose_from_msg(goal.attach_pose),
        timeout=timeout_of(goal),
    )


def _describe(action: Action, result: Any) -> None:
    target = action.target if isinstance(action, PickAction) else None
    if result.success and target is not None and target.is_alive:
        result.object = target.name or f"#{target.object_id}"


PICK = ActionKind("pick", Pick, _build, _describe)
