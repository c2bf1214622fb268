"""Lead managed nodes through transitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...launch.action import Action
from ...launch.actions import EmitEvent, RegisterEventHandler
from ...launch.event import Event
from ...launch.event_handler import BaseEventHandler
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.logging import get_logger
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..events.lifecycle import ChangeState, StateTransition
from ..events.matchers import Named, matches_node_name

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


class LifecycleTransition(Action):
    """Has each of the nodes go through transitions, one when the one before has led to its goal.

    One that does not lead there ends it for that node, with a line in the log. Raises ValueError without
    nodes, without transitions, and for those that lead nowhere.
    """

    transition_targets = {
        1: {"start_state": "configuring", "goal_state": "inactive"},
        2: {"start_state": "cleaningup", "goal_state": "unconfigured"},
        3: {"start_state": "activating", "goal_state": "active"},
        4: {"start_state": "deactivating", "goal_state": "inactive"},
        5: {"start_state": "shuttingdown", "goal_state": "finalized"},
        6: {"start_state": "shuttingdown", "goal_state": "finalized"},
        7: {"start_state": "shuttingdown", "goal_state": "finalized"},
    }

    def __init__(
        self,
        *,
        lifecycle_node_names: Sequence[SomeSubstitutionsType],
        transition_ids: Sequence[int | SomeSubstitutionsType],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not transition_ids:
            raise ValueError("No transition_ids provided.")
        if not lifecycle_node_names:
            raise ValueError("No lifecycle_node_names provided.")
        self._names = [normalize_to_list_of_substitutions(name) for name in lifecycle_node_names]
        texts = [str(number) if isinstance(number, int) else number for number in transition_ids]
        self._transitions = [normalize_to_list_of_substitutions(text) for text in texts]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        numbers = [_number(perform_substitutions(context, parts)) for parts in self._transitions]
        names = [perform_substitutions(context, parts) for parts in self._names]
        return [entity for name in names for entity in begin_transitions(name, numbers)]


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) not in LifecycleTransition.transition_targets:
        allowed = ", ".join(map(str, LifecycleTransition.transition_targets))
        raise ValueError(f"expected integer for lifecycle transition, one of {allowed}; got '{text}'")
    return int(text)


def begin_transitions(node_name: str, numbers: Sequence[int]) -> list[LaunchDescriptionEntity]:
    """What begins the first of them, and goes on with the next when it has ended well."""
    change = ChangeState(lifecycle_node_matcher=matches_node_name(node_name), transition_id=numbers[0])
    return [RegisterEventHandler(_OnOutcome(node_name, numbers)), EmitEvent(event=change)]


class _OnOutcome(BaseEventHandler):
    """Waits for the end of the first transition of several."""

    def __init__(self, node_name: str, numbers: Sequence[int]) -> None:
        super().__init__(matcher=self._is_outcome, handle_once=True)
        self._is_mine: Callable[[Named], bool] = matches_node_name(node_name)
        self._node_name = node_name
        self._numbers = numbers
        self._target = LifecycleTransition.transition_targets[numbers[0]]

    def _is_outcome(self, event: Event) -> bool:
        return (
            isinstance(event, StateTransition)
            and self._is_mine(event.action)
            and event.start_state == self._target["start_state"]
        )

    def handle(self, event: Event, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        super().handle(event, context)
        assert isinstance(event, StateTransition)
        following = self._numbers[1:]
        if event.goal_state == self._target["goal_state"]:
            return begin_transitions(self._node_name, following) if following else []
        get_logger("launch_ros.actions.lifecycle_transition").error(
            f"{self._node_name}: {ChangeState.valid_transitions[self._numbers[0]]} led to "
            f"'{event.goal_state}', not to '{self._target['goal_state']}'; "
            f"{len(following)} further ones are left out"
        )
        return []


def match_node_name_start_goal(node_name: str, start_state: str, goal_state: str) -> Callable[[Event], bool]:
    """Matches the change of a node from a state to another."""
    reaches_goal = match_node_name_goal(node_name, goal_state)
    return lambda event: reaches_goal(event) and getattr(event, "start_state", None) == start_state


def match_node_name_goal(node_name: str, goal_state: str) -> Callable[[Event], bool]:
    """Matches the change of a node to a state."""
    is_meant = matches_node_name(node_name)
    return lambda event: (
        isinstance(event, StateTransition) and is_meant(event.action) and event.goal_state == goal_state
    )
