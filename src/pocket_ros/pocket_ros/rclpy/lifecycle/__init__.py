"""Managed nodes: their states, their publishers and what else follows their transitions."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from enum import Enum
from functools import wraps
from threading import RLock
from typing import Any, NamedTuple

from ...interfaces.classes import message_class, service_class
from ...places import offer_places
from ..entity import CallbackGroup
from ..exceptions import RCLError
from ..node import Node as NodeNode
from ..publisher import Publisher as PublisherPublisher

# The states of a managed node and the transitions between them, as rcl_lifecycle has them.


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


# What follows the transitions of a node.


class ManagedEntity:
    """Is told of each transition of its node; by default it agrees."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being configured; `state` is the one it comes from."""
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being cleaned up."""
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being shut down."""
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being activated."""
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The node is being deactivated."""
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """A callback raised, or said that there is an error."""
        return TransitionCallbackReturn.SUCCESS


class SimpleManagedEntity(ManagedEntity):
    """An entity that works only while its node is active."""

    def __init__(self) -> None:
        self._enabled = False

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._enabled = True
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._enabled = False
        return TransitionCallbackReturn.SUCCESS

    @property
    def is_activated(self) -> bool:
        """Whether it works now."""
        return self._enabled

    @staticmethod
    def when_enabled(
        wrapped: Callable[..., Any] | None = None, *, when_not_enabled: Callable[..., None] | None = None
    ) -> Any:
        """Decorates a method: while the entity does not work, `when_not_enabled` is called in its place."""

        def decorate(method: Callable[..., Any]) -> Callable[..., None]:
            @wraps(method)
            def only_when_enabled(self: SimpleManagedEntity, *args: Any, **kwargs: Any) -> None:
                if self._enabled:
                    method(self, *args, **kwargs)
                elif when_not_enabled is not None:
                    when_not_enabled()

            return only_when_enabled

        return decorate if wrapped is None else decorate(wrapped)


# Publishers that publish only while their node is active.


class LifecyclePublisher(SimpleManagedEntity, PublisherPublisher):
    """What is published while the node is not active is dropped. Made by `create_lifecycle_publisher`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        SimpleManagedEntity.__init__(self)
        PublisherPublisher.__init__(self, *args, **kwargs)

    def publish(self, msg: Any) -> None:
        """Publish while the node is active; as `Publisher.publish` then, and nothing otherwise."""
        if self._enabled:
            PublisherPublisher.publish(self, msg)


# The services and the topic by which others see and change the state of a managed node.


ChangeState = Callable[[int | str], TransitionCallbackReturn]


class LifecycleServices:
    """`~/change_state`, `~/get_state`, `~/get_available_states`, `~/get_available_transitions`,
    `~/get_transition_graph`, and the topic `~/transition_event`."""

    def __init__(
        self, node: NodeNode, machine: StateMachine, change: ChangeState, callback_group: CallbackGroup | None
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


# Managed nodes: configured, activated, deactivated and cleaned up on request.


_SUCCESS, _ERROR = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.ERROR


class LifecycleNodeMixin(ManagedEntity):
    """Gives a Node a lifecycle; to be initialised after the Node.

    Each `on_...` asks the managed entities in the order in which they were added, up to the first that does
    not agree. Override them; call `super()` to keep the entities informed.
    """

    def __init__(
        self, *, enable_communication_interface: bool = True, callback_group: CallbackGroup | None = None
    ) -> None:
        self._ros_lifecycle_lock = RLock()
        self._managed_entities: dict[ManagedEntity, None] = {}
        self._ros_lifecycle_services: LifecycleServices | None = None
        self._state_machine = StateMachine(self._ros_notify)
        if enable_communication_interface:
            self._ros_lifecycle_services = LifecycleServices(
                self._ros_node(), self._state_machine, self._ros_change_state, callback_group
            )

    def trigger_configure(self) -> TransitionCallbackReturn:
        """Configure. Raises RCLError where the state does not allow it; so do the others."""
        return self._ros_change_state("configure")

    def trigger_cleanup(self) -> TransitionCallbackReturn:
        """Clean up."""
        return self._ros_change_state("cleanup")

    def trigger_activate(self) -> TransitionCallbackReturn:
        """Activate."""
        return self._ros_change_state("activate")

    def trigger_deactivate(self) -> TransitionCallbackReturn:
        """Deactivate."""
        return self._ros_change_state("deactivate")

    def trigger_shutdown(self) -> TransitionCallbackReturn:
        """Shut down."""
        return self._ros_change_state("shutdown")

    def add_managed_entity(self, entity: ManagedEntity) -> None:
        """Have an entity follow the transitions."""
        self._managed_entities[entity] = None

    def create_lifecycle_publisher(self, *args: Any, **kwargs: Any) -> PublisherPublisher:
        """`create_publisher` for a publisher that publishes only while the node is active."""
        if "publisher_class" in kwargs:
            raise TypeError(
                "create_lifecycle_publisher() got an unexpected keyword argument 'publisher_class'"
            )
        publisher = self._ros_node().create_publisher(*args, **kwargs, publisher_class=LifecyclePublisher)
        assert isinstance(publisher, LifecyclePublisher)
        self.add_managed_entity(publisher)
        return publisher

    def destroy_lifecycle_publisher(self, publisher: LifecyclePublisher) -> bool:
        """Destroy a publisher of this node; whether it was one."""
        self._managed_entities.pop(publisher, None)
        return self._ros_node().destroy_publisher(publisher)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._ros_ask(lambda entity: entity.on_configure(state))

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._ros_ask(lambda entity: entity.on_cleanup(state))

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._ros_ask(lambda entity: entity.on_shutdown(state))

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._ros_ask(lambda entity: entity.on_activate(state))

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._ros_ask(lambda entity: entity.on_deactivate(state))

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._ros_ask(lambda entity: entity.on_error(state))

    def _ros_node(self) -> NodeNode:
        if not isinstance(self, NodeNode):
            raise TypeError(
                f"{type(self).__name__} must be a Node as well: class My(LifecycleNodeMixin, Node)"
            )
        return self

    def _ros_notify(self, transition: Transition) -> None:
        if self._ros_lifecycle_services is not None:
            self._ros_lifecycle_services.notify(transition)

    def _ros_ask(self, ask: Callable[[ManagedEntity], TransitionCallbackReturn]) -> TransitionCallbackReturn:
        answers = (ask(entity) for entity in list(self._managed_entities))
        return next((answer for answer in answers if answer is not _SUCCESS), _SUCCESS)

    def _ros_change_state(self, which: int | str) -> TransitionCallbackReturn:
        """Follow a transition, and then the one that the answer of its callback stands for."""
        callbacks = {
            "configuring": self.on_configure,
            "cleaningup": self.on_cleanup,
            "shuttingdown": self.on_shutdown,
            "activating": self.on_activate,
            "deactivating": self.on_deactivate,
        }
        machine = self._state_machine
        with self._ros_lifecycle_lock:
            start, transition = machine.current, machine.find(which)
            machine.follow(transition)
            answer = self._ros_call(callbacks[transition.goal.label], start)
            machine.follow(machine.find(answer.to_label()))
            if answer is _ERROR:
                machine.follow(machine.find(self._ros_call(self.on_error, start).to_label()))
            return answer

    def _ros_call(
        self, callback: Callable[[LifecycleState], TransitionCallbackReturn], start: LifecycleState
    ) -> TransitionCallbackReturn:
        """What a callback answers. One that raises, or answers anything else, says ERROR, and is logged."""
        name = getattr(callback, "__name__", "a callback of the lifecycle")
        try:
            answer = callback(start)
        except Exception:
            self._ros_node().get_logger().error(f"{name} raised:\n{traceback.format_exc()}")
            return _ERROR
        if not isinstance(answer, TransitionCallbackReturn):
            self._ros_node().get_logger().error(
                f"{name} answered {answer!r}; it has to answer a TransitionCallbackReturn"
            )
            return _ERROR
        return answer


class LifecycleNode(LifecycleNodeMixin, NodeNode):
    """A node with a lifecycle; keywords are those of Node."""

    def __init__(self, node_name: str, *, enable_communication_interface: bool = True, **kwargs: Any) -> None:
        NodeNode.__init__(self, node_name, **kwargs)
        LifecycleNodeMixin.__init__(self, enable_communication_interface=enable_communication_interface)


# Names that programs use as well; not in __all__, where they would be taken for those of a plain node.
LifecycleMixin = LifecycleNodeMixin
Node = LifecycleNode
NodeMixin = LifecycleNodeMixin
Publisher = LifecyclePublisher
State = LifecycleState

__all__ = [
    "LifecycleNode",
    "LifecycleNodeMixin",
    "LifecyclePublisher",
    "LifecycleState",
    "ManagedEntity",
    "SimpleManagedEntity",
    "TransitionCallbackReturn",
]

offer_places(__name__)
