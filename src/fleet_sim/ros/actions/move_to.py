"""move_to: drive to a pose."""

from __future__ import annotations

from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.actions.move_along import MoveAction
from fleet_sim.config.modes import MovementDirection
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Path
from fleet_sim.ros.actions.kind import GoalReader, own_kind, patience_of, timeout_of
from fleet_sim_msgs.action import MoveTo

DIRECTIONS: dict[int, MovementDirection | None] = {
    MoveTo.Goal.AS_CONFIGURED: None,
    MoveTo.Goal.FORWARD: MovementDirection.FORWARD,
    MoveTo.Goal.BACKWARD: MovementDirection.BACKWARD,
    MoveTo.Goal.AUTO: MovementDirection.AUTO,
}


def _build(goal: Any, reader: GoalReader) -> Action:
    """Return the action of a goal; raises InvalidValueError for an unknown direction."""
    if goal.direction not in DIRECTIONS:
        raise InvalidValueError(f"direction: expected one of {sorted(DIRECTIONS)}, got {goal.direction}")
    return MoveAction(
        Path([reader.pose(stamped) for stamped in (*goal.via, goal.pose)]),
        final_orientation_align=goal.final_orientation_align,
        direction=DIRECTIONS[goal.direction],
        tolerance=goal.tolerance,
        route=goal.route,
        timeout=timeout_of(goal),
        blocked_timeout=patience_of(goal),
    )


MOVE_TO = own_kind("move_to", MoveTo, _build)
