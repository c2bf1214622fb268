"""The services and the topic by which others see and change the state of a managed node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...interfaces.classes import message_class, service_class
from ..callback_groups import CallbackGroup
from ..exceptions import RCLError
from ..node import Node
from .state_machine import (
    STATES,
    TRANSITIONS,
    LifecycleState,
    StateMachine,
    Transition,
    TransitionCallbackReturn,
)

ChangeState = Callable[[int | str], TransitionCallbackReturn]


class LifecycleServices:
    """`~/change_state`, `~/get_state`, `~/get_available_states`, `~/get_available_transitions`,
    `~/get_transition_graph`, and the topic `~/transition_event`."""

    def __init__(
        self, node: Node, machine: StateMachine, change: ChangeState, callback_group: CallbackGroup | None
    ) -> None:
        self._node, self._machine, self._change = node, machine, change
        self._event: Any = message_class("lifecycle_msgs/msg/TransitionEvent")
        self._publisher = node.create_publisher(self._event, "~/transition_event", 10)
        for name, kind, answer in (
            ("change_state", "ChangeState", self._change_state),
            ("get_state", "GetState", self._get_state),
            ("get_available_states", "GetAvailableStates", self._get_states),
            ("get_available_transitions", "GetAvailableTransitions", self._get_transitions),
            ("get_transition_graph", "GetAvailableTransitions", self._get_graph),
        ):
            service = service_class(f"lifecycle_msgs/srv/{kind}")
            node.create_service(service, f"~/{name}", answer, callback_group=callback_group)

    def notify(self, transition: Transition) -> None:
        """Tell the topic of a transition."""
        event = self._event(
            timestamp=self._node.get_clock().now().nanoseconds,
            transition=_transition(transition),
            start_state=_state(transition.start),
            goal_state=_state(transition.goal),
        )
        self._publisher.publish(event)

    def _change_state(self, request: Any, response: Any) -> Any:
        wanted = request.transition
        try:
            outcome = self._change(wanted.label or wanted.id)
            response.success = outcome is TransitionCallbackReturn.SUCCESS
        except RCLError as error:  # an impossible wish of somebody else's does not end this node
            self._node.get_logger().warning(f"did not change the state: {error}")
            response.success = False
        return response

    def _get_state(self, request: Any, response: Any) -> Any:
        response.current_state = _state(self._machine.current)
        return response

    def _get_states(self, request: Any, response: Any) -> Any:
        response.available_states = [_state(state) for state in STATES.values()]
        return response

    def _get_transitions(self, request: Any, response: Any) -> Any:
        response.available_transitions = _descriptions(self._machine.available())
        return response

    def _get_graph(self, request: Any, response: Any) -> Any:
        response.available_transitions = _descriptions(TRANSITIONS)
        return response


def _state(state: LifecycleState) -> Any:
    return message_class("lifecycle_msgs/msg/State")(id=state.state_id, label=state.label)


def _transition(transition: Transition) -> Any:
    return message_class("lifecycle_msgs/msg/Transition")(id=transition.transition_id, label=transition.label)


def _descriptions(transitions: Iterable[Transition]) -> list[Any]:
    description = message_class("lifecycle_msgs/msg/TransitionDescription")
    return [
        description(transition=_transition(t), start_state=_state(t.start), goal_state=_state(t.goal))
        for t in transitions
    ]
