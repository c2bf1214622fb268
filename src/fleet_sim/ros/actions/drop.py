"""drop: detach a carried object."""

from __future__ import annotations

from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.actions.drop import Drop as DropAction
from fleet_sim.ros.actions.arm import arm_arguments
from fleet_sim.ros.actions.kind import GoalReader, own_kind, timeout_of
from fleet_sim_msgs.action import Drop


def _build(goal: Any, reader: GoalReader) -> Action:
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


DROP = own_kind("drop", Drop, _build)
