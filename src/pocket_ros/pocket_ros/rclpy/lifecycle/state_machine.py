"""The states of a managed node and the transitions between them, as rcl_lifecycle has them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from ..exceptions import RCLError


class TransitionCallbackReturn(Enum):
    """What a callback says of the transition it was called for."""

    SUCCESS = 97
    FAILURE = 98
    ERROR = 99

    def to_label(self) -> str:
        """The label of the transition that follows."""
        return f"transition_{self.name.lower()}"


class LifecycleState(NamedTuple):
    """A state: its label and its number in lifecycle_msgs/msg/State."""

    label: str
    state_id: int


class Transition(NamedTuple):
    """A way from one state to another: its number in lifecycle_msgs/msg/Transition and its label."""

    transition_id: int
    label: str
    start: LifecycleState
    goal: LifecycleState


STATES = {
    label: LifecycleState(label, number)
    for label, number in {
        "unknown": 0,
        "unconfigured": 1,
        "inactive": 2,
        "active": 3,
        "finalized": 4,
        "configuring": 10,
        "cleaningup": 11,
        "shuttingdown": 12,
        "activating": 13,
        "deactivating": 14,
        "errorprocessing": 15,
    }.items()
}

# Number, label, from, through.
_ASKED_FOR = [
    (1, "configure", "unconfigured", "configuring"),
    (2, "cleanup", "inactive", "cleaningup"),
    (3, "activate", "inactive", "activating"),
    (4, "deactivate", "active", "deactivating"),
    (5, "shutdown", "unconfigured", "shuttingdown"),
    (6, "shutdown", "inactive", "shuttingdown"),
    (7, "shutdown", "active", "shuttingdown"),
]
# Number of the first outcome, through, and where success, failure and error lead.
_OUTCOMES = [
    (10, "configuring", "inactive", "unconfigured", "errorprocessing"),
    (20, "cleaningup", "unconfigured", "inactive", "errorprocessing"),
    (30, "activating", "active", "inactive", "errorprocessing"),
    (40, "deactivating", "inactive", "active", "errorprocessing"),
    (50, "shuttingdown", "finalized", "finalized", "errorprocessing"),
    (60, "errorprocessing", "unconfigured", "finalized", "finalized"),
]
TRANSITIONS = [
    *(Transition(number, label, STATES[start], STATES[goal]) for number, label, start, goal in _ASKED_FOR),
    *(
        Transition(first + offset, outcome.to_label(), STATES[start], STATES[goal])
        for first, start, *goals in _OUTCOMES
        for offset, (outcome, goal) in enumerate(zip(TransitionCallbackReturn, goals, strict=True))
    ),
]


class StateMachine:
    """The state of one node. `notify` is called after each transition."""

    def __init__(self, notify: Callable[[Transition], None]) -> None:
        self._notify = notify
        self.current = STATES["unconfigured"]

    def available(self) -> list[Transition]:
        """The transitions that lead out of the current state."""
        return [transition for transition in TRANSITIONS if transition.start == self.current]

    def find(self, which: int | str) -> Transition:
        """The transition of that number or label out of this state. Raises RCLError where there is none."""
        for transition in self.available():
            if which in (transition.transition_id, transition.label):
                return transition
        possible = ", ".join(f"{t.label} [{t.transition_id}]" for t in self.available()) or "none"
        raise RCLError(
            f"there is no transition '{which}' in the state '{self.current.label}'; possible: {possible}"
        )

    def follow(self, transition: Transition) -> None:
        """Go to where the transition leads."""
        self.current = transition.goal
        self._notify(transition)
