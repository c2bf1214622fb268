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
from fleet_sim.ros.actions.kind import GoalOutcome, GoalReader, own_kind, patience_of, timeout_of
from fleet_sim.ros.conversions import pose_from_msg
from fleet_sim_msgs.action import Drop, Pick


def arm_arguments(goal: Any, reader: GoalReader) -> dict[str, Any]:
    """Return the arguments of PickAction and DropAction for the arm; raises FleetSimError if they are invalid."""
    arguments: dict[str, Any] = {
        "joint_targets": _joint_targets(goal),
        "joint_tolerance": _joint_tolerance(goal),
        "joint_max_force": goal.joint_max_force,
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
    elif _is_given(goal.ee_target):
        raise InvalidValueError("ee_target: set use_ee_target, or use_ee_orientation, to use it; or leave it empty")
    return arguments


def _joint_targets(goal: Any) -> Any:
    names, targets = list(goal.joint_names), list(goal.joint_targets)
    if not names:
        return targets or None
    if len(names) != len(targets):
        raise InvalidValueError(f"joint_targets: expected one for each of {len(names)} joint_names, got {len(targets)}")
    return dict(zip(names, targets, strict=True))


def _joint_tolerance(goal: Any) -> Any:
    names, given = list(goal.joint_names), list(goal.joint_tolerance)
    if len(given) <= 1:
        return given[0] if given else None
    if len(names) != len(given):
        raise InvalidValueError(
            f"joint_tolerance: expected one for all, or one for each of {len(names)} joint_names, got {len(given)}"
        )
    return dict(zip(names, given, strict=True))


def _is_given(message: Any) -> bool:
    """Return whether a part of a goal differs from that of a goal in which nobody set it."""
    stamped = hasattr(message, "header")
    # A stamp alone says nothing of where.
    frame = message.header.frame_id if stamped else ""
    place = (message.pose if hasattr(message, "pose") else message.point) if stamped else message
    return bool(frame) or place != type(place)()


def drive_arguments(goal: Any, reader: GoalReader) -> dict[str, Any]:
    """Return the arguments of PickAction and DropAction for the way there and back; raises FleetSimError."""
    away = reader.pose(goal.approach_pose) if goal.use_approach_pose or _is_given(goal.approach_pose) else None
    if away is not None and not goal.use_approach:
        raise InvalidValueError("approach_pose: use_approach is false, so the robot does not drive there")
    return {
        "use_approach": goal.use_approach,
        "approach_pose": away,
        "approach_offset": goal.approach_offset,
        "move_skip_threshold": goal.move_skip_threshold,
        "timeout": timeout_of(goal),
        "blocked_timeout": patience_of(goal),
    }


def _build_pick(goal: Any, reader: GoalReader) -> Action:
    """Return the action of a goal: the object by its name, else the nearest one to a position or to the robot."""
    # A point has no orientation; as a pose it goes through the same frames.
    around = PoseStamped(header=goal.position.header)
    around.pose.position = goal.position.point
    if _is_given(goal.position) and not goal.use_position:
        raise InvalidValueError("position: set use_position to search around it, or leave it empty")
    return PickAction(
        target_object_id=goal.object or None,
        target_position=reader.pose(around).position if goal.use_position else None,
        search_radius=goal.search_radius,
        use_2d_search=goal.use_2d_search,
        reach=None if goal.reach < 0.0 else goal.reach,
        pick_offset=goal.pick_offset,
        attach_link=goal.attach_link or BASE,
        attach_relative_pose=pose_from_msg(goal.attach_pose) if _is_given(goal.attach_pose) else None,
        keep_world_pose=goal.keep_pose,
        **drive_arguments(goal, reader),
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
    """Return the action of a goal, whose pose may be in any frame that TF can resolve.

    Fields of messages cannot be absent: a pose that nobody set is the origin of the map, and is taken as none, unless
    its flag says that it is meant.
    """
    place = reader.pose(goal.pose) if goal.use_pose or _is_given(goal.pose) else None
    moved = pose_from_msg(goal.relative_pose) if goal.use_relative_pose or _is_given(goal.relative_pose) else None
    if place is None and goal.use_approach:
        raise InvalidValueError(
            "pose: needed to drive there (use_pose, where it is the origin of the map); to let go of the object where "
            "the robot is, set use_approach to false"
        )
    return DropAction(
        place,
        drop_relative_pose=moved,
        drop_offset=goal.drop_offset,
        place_gently=not goal.fall,
        drop_height=goal.drop_height,
        target_object_id=goal.object or None,
        **drive_arguments(goal, reader),
        **arm_arguments(goal, reader),
    )


DROP = own_kind("drop", Drop, _build_drop)
