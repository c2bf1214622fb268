"""Managed nodes: configured, activated, deactivated and cleaned up on request."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from threading import RLock
from typing import Any

from ..callback_groups import CallbackGroup
from ..node import Node
from ..publisher import Publisher
from .communication import LifecycleServices
from .managed_entity import ManagedEntity
from .publisher import LifecyclePublisher
from .state_machine import LifecycleState, StateMachine, Transition, TransitionCallbackReturn

__all__ = ["LifecycleNode", "LifecycleNodeMixin", "LifecycleState", "TransitionCallbackReturn"]

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

    def create_lifecycle_publisher(self, *args: Any, **kwargs: Any) -> Publisher:
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

    def _ros_node(self) -> Node:
        if not isinstance(self, Node):
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


class LifecycleNode(LifecycleNodeMixin, Node):
    """A node with a lifecycle; keywords are those of Node."""

    def __init__(self, node_name: str, *, enable_communication_interface: bool = True, **kwargs: Any) -> None:
        Node.__init__(self, node_name, **kwargs)
        LifecycleNodeMixin.__init__(self, enable_communication_interface=enable_communication_interface)
