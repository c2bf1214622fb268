"""Callbacks on changes of single parameters of any node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class
from .callback_groups import CallbackGroup
from .qos import QoSProfile, qos_profile_parameter_events

if TYPE_CHECKING:
    from .node import Node


@dataclass(eq=False)
class ParameterCallbackHandle:
    """A registered callback for one parameter."""

    parameter_name: str
    node_name: str
    callback: Callable[[Any], None]


@dataclass(eq=False)
class ParameterEventCallbackHandle:
    """A registered callback for all events."""

    callback: Callable[[Any], None]


class ParameterEventHandler:
    """Listens to `/parameter_events`; the callbacks registered last are called first."""

    def __init__(
        self,
        node: Node,
        qos_profile: QoSProfile = qos_profile_parameter_events,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.node = node
        self._parameter_callbacks: list[ParameterCallbackHandle] = []
        self._event_callbacks: list[ParameterEventCallbackHandle] = []
        self.parameter_event_subscription = node.create_subscription(
            message_class("rcl_interfaces/msg/ParameterEvent"),
            "/parameter_events",
            self._on_event,
            qos_profile,
            callback_group=callback_group,
        )

    @staticmethod
    def get_parameter_from_event(event: Any, parameter_name: str, node_name: str) -> Any | None:
        """The Parameter message of an event, or None."""
        if event.node != node_name:
            return None
        changed = [*event.new_parameters, *event.changed_parameters]
        return next((p for p in changed if p.name == parameter_name), None)

    @staticmethod
    def get_parameters_from_event(event: Any) -> list[Any]:
        """The new and the changed Parameter messages of an event."""
        return [*event.new_parameters, *event.changed_parameters]

    def add_parameter_callback(
        self, parameter_name: str, node_name: str, callback: Callable[[Any], None]
    ) -> ParameterCallbackHandle:
        """Call with the Parameter message whenever that parameter of that node is set."""
        full_name = (
            node_name if node_name.startswith("/") else f"{self.node.get_namespace().rstrip('/')}/{node_name}"
        )
        if not node_name:
            full_name = self.node.get_fully_qualified_name()
        handle = ParameterCallbackHandle(parameter_name, full_name, callback)
        self._parameter_callbacks.insert(0, handle)
        return handle

    def remove_parameter_callback(self, handle: ParameterCallbackHandle) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        self._parameter_callbacks.remove(handle)

    def add_parameter_event_callback(self, callback: Callable[[Any], None]) -> ParameterEventCallbackHandle:
        """Call with every ParameterEvent."""
        handle = ParameterEventCallbackHandle(callback)
        self._event_callbacks.insert(0, handle)
        return handle

    def remove_parameter_event_callback(self, handle: ParameterEventCallbackHandle) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        self._event_callbacks.remove(handle)

    def destroy(self) -> None:
        """Stop listening."""
        self.node.destroy_subscription(self.parameter_event_subscription)

    def _on_event(self, event: Any) -> None:
        for handle in list(self._parameter_callbacks):
            parameter = self.get_parameter_from_event(event, handle.parameter_name, handle.node_name)
            if parameter is not None:
                handle.callback(parameter)
        for event_handle in list(self._event_callbacks):
            event_handle.callback(event)
