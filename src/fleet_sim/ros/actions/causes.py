"""Why an action ended, as a value of fleet_sim_msgs/msg/Cause."""

from __future__ import annotations

from fleet_sim.actions.base import Action
from fleet_sim.errors import FleetSimError, UnknownNameError
from fleet_sim.modes import ActionStatus
from fleet_sim_msgs.msg import Cause

CANCEL_REASON = "cancelled by a client"
SHUTDOWN_REASON = "the simulation was shut down"

# The core says in words why an action failed; these words tell the causes apart.
_FAILURES = (
    ("timed out", Cause.TIMEOUT),
    ("not found", Cause.UNKNOWN_OBJECT),
    ("attached", Cause.UNKNOWN_OBJECT),
    ("fixed base", Cause.UNREACHABLE),
    ("is carried by", Cause.UNREACHABLE),
    ("unknown robot", Cause.UNKNOWN_ROBOT),
    ("not a robot", Cause.UNKNOWN_ROBOT),
)
_CANCELLATIONS = (
    (CANCEL_REASON, Cause.CANCELED),
    ("the agent was removed", Cause.UNKNOWN_ROBOT),
    ("the simulation was", Cause.SHUTDOWN),
)


def cause_of_action(action: Action) -> tuple[int, str]:
    """Return (cause, text) of an action that has ended; (NONE, "") for success."""
    text = action.error_message or ""
    if action.status is ActionStatus.COMPLETED:
        return Cause.NONE, ""
    if action.status is ActionStatus.CANCELLED:
        return _first(_CANCELLATIONS, text, Cause.PREEMPTED), text
    return _first(_FAILURES, text, Cause.FAILED), text


def cause_of_refusal(reason: str) -> int:
    """Return the cause of a command that was refused with `reason`."""
    return _first(_FAILURES, reason, Cause.FAILED)


def cause_of_error(error: FleetSimError) -> int:
    """Return the cause of an error raised while a goal was read."""
    return Cause.UNKNOWN_FRAME if isinstance(error, UnknownNameError) else Cause.INVALID_GOAL


def _first(table: tuple[tuple[str, int], ...], text: str, otherwise: int) -> int:
    return next((cause for words, cause in table if words in text), otherwise)
