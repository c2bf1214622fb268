"""pick: take an object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.actions.pick import PickAction
from fleet_sim.ros.actions.kind import Outcome, Place, own_kind, timeout_of
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


def _result(outcome: Outcome) -> Any:
    result = _KIND.result(outcome)
    target = outcome.action.target if isinstance(outcome.action, PickAction) else None
    if outcome.success and target is not None and target.is_alive:
        result.object = target.name or f"#{target.object_id}"
    return result


_KIND = own_kind("pick", Pick, _build)
PICK = replace(_KIND, result=_result)
