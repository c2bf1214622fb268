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


class _Callbacks:
    """The registered callbacks, the last registered first."""

    def __init__(self) -> None:
        self.parameter_callbacks: dict[tuple[str, str], list[ParameterCallbackHandle]] = {}
        self.event_callbacks: list[ParameterEventCallbackHandle] = []

    def event_callback(self, event: Any) -> None:
        """Call those whose parameter is in the event, then those for all events."""
        # Copies: a callback may remove itself, or add others.
        for (parameter_name, node_name), handles in list(self.parameter_callbacks.items()):
            parameter = ParameterEventHandler.get_parameter_from_event(event, parameter_name, node_name)
            for handle in list(handles) if parameter is not None else ():
                handle.callback(parameter)
        for event_handle in list(self.event_callbacks):
            event_handle.callback(event)


class ParameterEventHandler:
    """Listens to `/parameter_events`; the callbacks registered last are called first."""

    def __init__(
        self,
        node: Node,
        qos_profile: QoSProfile = qos_profile_parameter_events,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.node = node
        self._callbacks = _Callbacks()
        self.parameter_event_subscription = node.create_subscription(
            message_class("rcl_interfaces/msg/ParameterEvent"),
            "/parameter_events",
            self._callbacks.event_callback,
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
        full_name = self._resolve_path(node_name)
        handle = ParameterCallbackHandle(parameter_name, full_name, callback)
        self._callbacks.parameter_callbacks.setdefault((parameter_name, full_name), []).insert(0, handle)
        return handle

    def remove_parameter_callback(self, handle: ParameterCallbackHandle) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        key = handle.parameter_name, handle.node_name
        handles = self._callbacks.parameter_callbacks.get(key, [])
        handles.remove(handle)
        if not handles:
            del self._callbacks.parameter_callbacks[key]

    def add_parameter_event_callback(self, callback: Callable[[Any], None]) -> ParameterEventCallbackHandle:
        """Call with every ParameterEvent."""
        handle = ParameterEventCallbackHandle(callback)
        self._callbacks.event_callbacks.insert(0, handle)
        return handle

    def remove_parameter_event_callback(self, handle: ParameterEventCallbackHandle) -> None:
        """Take a callback back. Raises ValueError where it is not there."""
        self._callbacks.event_callbacks.remove(handle)

    def destroy(self) -> None:
        """Stop listening."""
        self.node.destroy_subscription(self.parameter_event_subscription)

    def _resolve_path(self, node_path: str = "") -> str:
        """The full name of a node: relative names are in this node's namespace, none is this node."""
        if not node_path:
            return self.node.get_fully_qualified_name()
        if node_path.startswith("/"):
            return node_path
        return f"{self.node.get_namespace().rstrip('/')}/{node_path}"
