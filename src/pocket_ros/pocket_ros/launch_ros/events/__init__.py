"""Events of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...launch.description import Event
from ...places import offer_places

# Which nodes an event is for.


class Named(Protocol):
    """An action that knows the full name of its node."""

    @property
    def node_name(self) -> str: ...


def matches_node_name(node_name: str) -> Callable[[Named], bool]:
    """Matches actions whose node has this full name; without a slash in front it is below the root."""
    full = node_name if node_name.startswith("/") else f"/{node_name}"
    return lambda action: action.node_name == full


# Events of managed nodes.


class ChangeState(Event):
    """Managed nodes are to go through a transition, by its number in lifecycle_msgs/msg/Transition.

    Raises ValueError for a number that cannot be asked for.
    """

    name = "launch_ros.events.lifecycle.ChangeState"
    valid_transitions = {
        0: "TRANSITION_CREATE",
        1: "TRANSITION_CONFIGURE",
        2: "TRANSITION_CLEANUP",
        3: "TRANSITION_ACTIVATE",
        4: "TRANSITION_DEACTIVATE",
        5: "TRANSITION_UNCONFIGURED_SHUTDOWN",
        6: "TRANSITION_INACTIVE_SHUTDOWN",
        7: "TRANSITION_ACTIVE_SHUTDOWN",
        8: "TRANSITION_DESTROY",
    }
    valid_states = {
        0: "PRIMARY_STATE_UNKNOWN",
        1: "PRIMARY_STATE_UNCONFIGURED",
        2: "PRIMARY_STATE_INACTIVE",
        3: "PRIMARY_STATE_ACTIVE",
        4: "PRIMARY_STATE_FINALIZED",
        10: "TRANSITION_STATE_CONFIGURING",
        11: "TRANSITION_STATE_CLEANINGUP",
        12: "TRANSITION_STATE_SHUTTINGDOWN",
        13: "TRANSITION_STATE_ACTIVATING",
        14: "TRANSITION_STATE_DEACTIVATING",
        15: "TRANSITION_STATE_ERRORPROCESSING",
    }

    def __init__(self, *, lifecycle_node_matcher: Callable[[Any], bool], transition_id: int) -> None:
        if transition_id not in self.valid_transitions:
            allowed = ", ".join(f"{number}: {name}" for number, name in self.valid_transitions.items())
            raise ValueError(f"transition_id must be one of {allowed}; got {transition_id!r}")
        self._matcher = lifecycle_node_matcher
        self.transition_id = transition_id

    @property
    def lifecycle_node_matcher(self) -> Callable[[Any], bool]:
        """Says of an action whether its node is meant."""
        return self._matcher


class StateTransition(Event):
    """A managed node has said that its state changed."""

    name = "launch_ros.events.lifecycle.StateTransition"

    def __init__(self, *, action: Named, msg: Any) -> None:
        self.action = action
        self.msg = msg

    @property
    def timestamp(self) -> int:
        """When, in nanoseconds."""
        return int(self.msg.timestamp)

    @property
    def transition(self) -> str:
        """The label of the transition."""
        return str(self.msg.transition.label)

    @property
    def start_state(self) -> str:
        """The label of the state before."""
        return str(self.msg.start_state.label)

    @property
    def goal_state(self) -> str:
        """The label of the state after."""
        return str(self.msg.goal_state.label)


__all__ = ["lifecycle", "matchers", "matches_node_name"]

offer_places(__name__)
