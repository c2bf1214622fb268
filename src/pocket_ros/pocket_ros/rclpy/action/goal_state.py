"""The states of a goal and the events that lead from one to another."""

from __future__ import annotations

from enum import IntEnum

from ..exceptions import RCLError


class GoalStatus(IntEnum):
    """The states, numbered as in action_msgs/msg/GoalStatus."""

    UNKNOWN = 0
    ACCEPTED = 1
    EXECUTING = 2
    CANCELING = 3
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


class GoalEvent(IntEnum):
    """What happens to a goal."""

    EXECUTE = 0
    CANCEL_GOAL = 1
    SUCCEED = 2
    ABORT = 3
    CANCELED = 4


ACTIVE = frozenset({GoalStatus.ACCEPTED, GoalStatus.EXECUTING, GoalStatus.CANCELING})
CANCELABLE = frozenset({GoalStatus.ACCEPTED, GoalStatus.EXECUTING})
_TRANSITIONS = {
    (GoalStatus.ACCEPTED, GoalEvent.EXECUTE): GoalStatus.EXECUTING,
    (GoalStatus.ACCEPTED, GoalEvent.CANCEL_GOAL): GoalStatus.CANCELING,
    (GoalStatus.EXECUTING, GoalEvent.CANCEL_GOAL): GoalStatus.CANCELING,
    (GoalStatus.EXECUTING, GoalEvent.SUCCEED): GoalStatus.SUCCEEDED,
    (GoalStatus.EXECUTING, GoalEvent.ABORT): GoalStatus.ABORTED,
    (GoalStatus.CANCELING, GoalEvent.SUCCEED): GoalStatus.SUCCEEDED,
    (GoalStatus.CANCELING, GoalEvent.ABORT): GoalStatus.ABORTED,
    (GoalStatus.CANCELING, GoalEvent.CANCELED): GoalStatus.CANCELED,
}


def transition(status: GoalStatus, event: GoalEvent) -> GoalStatus:
    """The state after an event. Raises RCLError where the event cannot happen in that state."""
    after = _TRANSITIONS.get((status, event))
    if after is None:
        possible = [e.name for s, e in _TRANSITIONS if s is status] or ["nothing"]
        raise RCLError(
            f"goal_handle attempted invalid transition from state {status.name} with event {event.name}; "
            f"possible is {', '.join(possible)}"
        )
    return after
