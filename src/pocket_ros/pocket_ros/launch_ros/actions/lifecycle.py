"""Run a managed node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...interfaces.classes import message_class, service_class
from ...launch.action import Action
from ...launch.actions import EmitEvent, RegisterEventHandler
from ...launch.description import BaseEventHandler, Event, LaunchDescriptionEntity, SomeSubstitutionsType
from ...launch.logging import get_logger
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..events import ChangeState, Named, StateTransition, matches_node_name
from ..ros_adapters import LOOK_SECONDS, call_service, get_ros_node
from .node import Node

if TYPE_CHECKING:
    from ...launch.description import LaunchContext
    from ...rclpy.service import Client


class LifecycleNode(Node):
    """Runs a managed node: a ChangeState event makes it go through a transition, and a StateTransition event
    is emitted for each one it went through.

    A transition that the node refuses is an error in the log. Arguments are those of Node.
    """

    def __init__(
        self, *, name: SomeSubstitutionsType, namespace: SomeSubstitutionsType, **kwargs: Any
    ) -> None:
        super().__init__(name=name, namespace=namespace, **kwargs)
        self._state_change: Client | None = None

    def prepare(self, context: LaunchContext) -> None:
        """Perform the substitutions, and listen to the node before it is started."""
        super().prepare(context)
        node = get_ros_node(context)
        event = message_class("lifecycle_msgs/msg/TransitionEvent")
        loop = context.asyncio_loop
        assert loop is not None

        def tell(message: object) -> None:
            transition = StateTransition(action=self, msg=message)
            loop.call_soon_threadsafe(context.emit_event_sync, transition)

        node.create_subscription(event, f"{self.node_name}/transition_event", tell, 10)
        service = service_class("lifecycle_msgs/srv/ChangeState")
        self._state_change = node.create_client(service, f"{self.node_name}/change_state")
        context.register_event_handler(_OnChangeState(self))

    def begin_transition(self, event: ChangeState, context: LaunchContext) -> None:
        """Ask the node for a transition; the answer is waited for beside the launch."""
        assert context.asyncio_loop is not None
        task = context.asyncio_loop.run_in_executor(None, self._ask, event.transition_id, context)
        task.add_done_callback(self._report)

    def _ask(self, transition_id: int, context: LaunchContext) -> None:
        client = self._state_change
        assert client is not None
        node, topic = get_ros_node(context), f"{self.node_name}/transition_event"
        # Without its publisher in sight what the node says of the transition would be missed.
        while not (client.wait_for_service(timeout_sec=LOOK_SECONDS) and node.count_publishers(topic)):
            if context.is_shutdown:
                return
        request = service_class("lifecycle_msgs/srv/ChangeState").Request()
        request.transition.id = transition_id
        response = call_service(client, request, context)
        if response is not None and not response.success:
            name = ChangeState.valid_transitions[transition_id]
            raise RuntimeError(f"Failed to make transition '{name}' for LifecycleNode '{self.node_name}'")

    @staticmethod
    def _report(task: asyncio.Future[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            get_logger("launch_ros.actions.lifecycle_node").error(str(error))


class _OnChangeState(BaseEventHandler):
    """Passes events on to one node."""

    def __init__(self, target: LifecycleNode) -> None:
        super().__init__(matcher=self._is_meant)
        self._target = target

    def _is_meant(self, event: Event) -> bool:
        return isinstance(event, ChangeState) and event.lifecycle_node_matcher(self._target)

    def handle(self, event: Event, context: LaunchContext) -> None:
        assert isinstance(event, ChangeState)
        self._target.begin_transition(event, context)


# Lead managed nodes through transitions.


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
