"""pick: attach an object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.actions.pick import Pick as PickAction
from fleet_sim.core.robot_model import BASE
from fleet_sim.geometry import Pose
from fleet_sim.ros.actions.arm import arm_arguments
from fleet_sim.ros.actions.kind import GoalOutcome, GoalReader, own_kind, timeout_of
from fleet_sim.ros.conversions import pose_from_msg
from fleet_sim_msgs.action import Pick


def _build(goal: Any, reader: GoalReader) -> Action:
    # A point has no orientation; as a pose it goes through the same frames.
    around = PoseStamped(header=goal.position.header)
    around.pose.position = goal.position.point
    offset = pose_from_msg(goal.attach_pose)
    return PickAction(
        target_object_id=goal.object or None,
        target_position=reader.pose(around).position if goal.use_position else None,
        search_radius=goal.search_radius,
        use_approach=goal.use_approach,
        approach_offset=goal.approach_offset,
        pick_offset=goal.pick_offset,
        attach_link=goal.attach_link or BASE,
        attach_relative_pose=None if goal.keep_pose or offset == Pose((0.0, 0.0, 0.0)) else offset,
        keep_world_pose=goal.keep_pose,
        timeout=timeout_of(goal),
        **arm_arguments(goal, reader),
    )


def _result(outcome: GoalOutcome) -> Any:
    result = _KIND.result(outcome)
    # The action may have ended before it found its object.
    target = outcome.action.target if isinstance(outcome.action, PickAction) else None
    if outcome.success and target is not None and target.is_alive:
        result.object = target.name or f"#{target.object_id}"
    return result


_KIND = own_kind("pick", Pick, _build)
PICK = replace(_KIND, result=_result)
