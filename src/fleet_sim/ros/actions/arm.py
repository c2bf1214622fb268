"""The arm's part of pick and drop goals."""

from __future__ import annotations

from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.actions.kind import GoalReader


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
