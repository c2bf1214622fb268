"""Reading and setting the parameters of another node."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class, service_class
from .entity import CallbackGroup
from .parameter import Parameter, parameter_dict_from_yaml_file
from .qos import QoSProfile, qos_profile_parameter_events, qos_profile_services_default
from .task import Future

if TYPE_CHECKING:
    from .node import Node
    from .service import Client
    from .subscription import Subscription


_Done = Callable[[Future[Any]], Any]
_SERVICES = {
    "get_parameters": "GetParameters",
    "set_parameters": "SetParameters",
    "set_parameters_atomically": "SetParametersAtomically",
    "list_parameters": "ListParameters",
    "describe_parameters": "DescribeParameters",
    "get_parameter_types": "GetParameterTypes",
}


class AsyncParameterClient:
    """Asks the parameter services of a node; each call answers a future with the service's response."""

    def __init__(
        self,
        node: Node,
        remote_node_name: str,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.remote_node_name = remote_node_name
        self.node = node
        self._clients: dict[str, Client] = {
            service: node.create_client(
                service_class(f"rcl_interfaces/srv/{kind}"),
                f"{remote_node_name}/{service}",
                qos_profile=qos_profile,
                callback_group=callback_group,
            )
            for service, kind in _SERVICES.items()
        }

    def services_are_ready(self) -> bool:
        """Whether all services of the node are there."""
        return all(client.service_is_ready() for client in self._clients.values())

    def wait_for_services(self, timeout_sec: float | None = None) -> bool:
        """Wait for all services; False on timeout and shutdown."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        for client in self._clients.values():
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not client.wait_for_service(left):
                return False
        return True

    def list_parameters(
        self, prefixes: list[str] | None = None, depth: int | None = None, callback: _Done | None = None
    ) -> Future[Any]:
        """The names of its parameters."""
        return self._ask("list_parameters", callback, prefixes=prefixes or [], depth=depth or 0)

    def get_parameters(self, names: list[str], callback: _Done | None = None) -> Future[Any]:
        """Values."""
        return self._ask("get_parameters", callback, names=names)

    def set_parameters(self, parameters: Sequence[Any], callback: _Done | None = None) -> Future[Any]:
        """Set Parameter objects or messages one by one."""
        return self._ask("set_parameters", callback, parameters=_messages(parameters))

    def set_parameters_atomically(
        self, parameters: Sequence[Any], callback: _Done | None = None
    ) -> Future[Any]:
        """Set all Parameter objects or messages, or none."""
        return self._ask("set_parameters_atomically", callback, parameters=_messages(parameters))

    def describe_parameters(self, names: list[str], callback: _Done | None = None) -> Future[Any]:
        """Descriptors."""
        return self._ask("describe_parameters", callback, names=names)

    def get_parameter_types(self, names: list[str], callback: _Done | None = None) -> Future[Any]:
        """Types."""
        return self._ask("get_parameter_types", callback, names=names)

    def delete_parameters(self, names: list[str], callback: _Done | None = None) -> Future[Any]:
        """Undeclare parameters of dynamic type."""
        return self.set_parameters([Parameter(name, Parameter.Type.NOT_SET) for name in names], callback)

    def load_parameter_file(
        self, parameter_file: str, use_wildcard: bool = False, callback: _Done | None = None
    ) -> Future[Any]:
        """Set what a parameter file says, for whichever nodes it says it."""
        return self.set_parameters(self._read(parameter_file, use_wildcard), callback)

    def load_parameter_file_atomically(
        self, parameter_file: str, use_wildcard: bool = False, callback: _Done | None = None
    ) -> Future[Any]:
        """Set all a parameter file says, for whichever nodes it says it, or nothing."""
        return self.set_parameters_atomically(self._read(parameter_file, use_wildcard), callback)

    def on_parameter_event(
        self,
        callback: Callable[[Any], Any],
        qos_profile: QoSProfile = qos_profile_parameter_events,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: Any = None,
        qos_overriding_options: Any = None,
        raw: bool = False,
    ) -> Subscription:
        """Call on every parameter event of the domain."""
        return self.node.create_subscription(
            message_class("rcl_interfaces/msg/ParameterEvent"),
            "/parameter_events",
            callback,
            qos_profile,
            callback_group=callback_group,
            event_callbacks=event_callbacks,
            qos_overriding_options=qos_overriding_options,
            raw=raw,
        )

    def _read(self, parameter_file: str, use_wildcard: bool) -> list[Any]:
        return list(parameter_dict_from_yaml_file(parameter_file, use_wildcard).values())

    def _ask(self, service: str, callback: _Done | None, **fields: Any) -> Future[Any]:
        client = self._clients[service]
        future = client.call_async(client.srv_type.Request(**fields))
        if callback is not None:
            future.add_done_callback(callback)
        return future


def _messages(parameters: Sequence[Any]) -> list[Any]:
    return [p.to_parameter_msg() if isinstance(p, Parameter) else p for p in parameters]


# Callbacks on changes of single parameters of any node.


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
