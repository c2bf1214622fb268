"""Why an action ended, as a value of fleet_sim_msgs/msg/Cause."""

from __future__ import annotations

from fleet_sim.actions.base import Action
from fleet_sim.config.modes import ActionCause
from fleet_sim.errors import UnknownNameError
from fleet_sim_msgs.msg import Cause

CANCEL_REASON = "cancelled by a client"
SHUTDOWN_REASON = "the simulation was shut down"

CODES = {
    ActionCause.INVALID_GOAL: Cause.INVALID_GOAL,
    ActionCause.UNKNOWN_ROBOT: Cause.UNKNOWN_ROBOT,
    ActionCause.UNKNOWN_OBJECT: Cause.UNKNOWN_OBJECT,
    ActionCause.UNREACHABLE: Cause.UNREACHABLE,
    ActionCause.TIMEOUT: Cause.TIMEOUT,
    ActionCause.CANCELLED: Cause.CANCELED,
    ActionCause.PREEMPTED: Cause.PREEMPTED,
    ActionCause.SHUTDOWN: Cause.SHUTDOWN,
    ActionCause.FAILED: Cause.FAILED,
}
"""Causes of the simulation and their values in the message."""


def cause_of_action(action: Action) -> tuple[int, str]:
    """Return (cause, text) of an action that has ended; (NONE, "") for success."""
    if action.cause is None:
        return Cause.NONE, ""
    return CODES[action.cause], action.error_message or ""


def cause_of_error(error: BaseException) -> int:
    """Return the cause of an error raised while a goal was read."""
    return Cause.UNKNOWN_FRAME if isinstance(error, UnknownNameError) else Cause.INVALID_GOAL
