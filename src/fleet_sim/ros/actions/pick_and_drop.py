"""pick and drop: attach an object, and detach a carried one, with an arm or without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.actions.drop import Drop as DropAction
from fleet_sim.actions.pick import Pick as PickAction
from fleet_sim.core.robot_model import BASE
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.ros.actions.kind import GoalOutcome, GoalReader, own_kind, timeout_of
from fleet_sim.ros.conversions import pose_from_msg
from fleet_sim_msgs.action import Drop, Pick


def arm_arguments(goal: Any, reader: GoalReader) -> dict[str, Any]:
    """Return the arguments of PickAction and DropAction for the arm; raises FleetSimError if they are invalid."""
    arguments: dict[str, Any] = {
        "joint_targets": _joint_targets(goal),
        "ee_end_effector_link": goal.ee_link or None,
        "ee_tolerance": goal.ee_tolerance,
        "continue_on_ik_failure": goal.continue_on_ik_failure,
        "use_arm": goal.use_arm,
    }
    if goal.use_ee_target or goal.use_ee_orientation:
        target = reader.pose(goal.ee_target)
        if goal.use_ee_target:
            arguments["ee_target_position"] = target.position
        if goal.use_ee_orientation:
            arguments["ee_target_orientation"] = target.orientation
    return arguments


def _joint_targets(goal: Any) -> Any:
    names, targets = list(goal.joint_names), list(goal.joint_targets)
    if not names:
        return targets or None
    if len(names) != len(targets):
        raise InvalidValueError(f"joint_targets: expected one for each of {len(names)} joint_names, got {len(targets)}")
    return dict(zip(names, targets, strict=True))


def _build_pick(goal: Any, reader: GoalReader) -> Action:
    """Return the action of a goal: the object by its name, else the nearest one to a position or to the robot."""
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


_KIND = own_kind("pick", Pick, _build_pick)
PICK = replace(_KIND, result=_result)


def _build_drop(goal: Any, reader: GoalReader) -> Action:
    """Return the action of a goal, whose pose may be in any frame that TF can resolve."""
    return DropAction(
        reader.pose(goal.pose),
        use_approach=goal.use_approach,
        approach_offset=goal.approach_offset,
        drop_offset=goal.drop_offset,
        place_gently=not goal.fall,
        drop_height=goal.drop_height,
        target_object_id=goal.object or None,
        timeout=timeout_of(goal),
        **arm_arguments(goal, reader),
    )


DROP = own_kind("drop", Drop, _build_drop)
