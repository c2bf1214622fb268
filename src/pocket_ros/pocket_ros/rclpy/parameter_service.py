"""The services by which other nodes read and set a node's parameters."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class, service_class
from .exceptions import ParameterNotDeclaredException, ParameterUninitializedException
from .parameter import Parameter
from .qos import qos_profile_parameters

if TYPE_CHECKING:
    from .node_base import NodeBase


class ParameterService:
    """The six services under the name of the node, such as `~/get_parameters`."""

    def __init__(self, node: NodeBase) -> None:
        self._node_weak_ref = weakref.ref(node)
        for name, callback in {
            "DescribeParameters": self._describe,
            "GetParameters": self._get,
            "GetParameterTypes": self._get_types,
            "ListParameters": self._list,
            "SetParameters": self._set,
            "SetParametersAtomically": self._set_atomically,
        }.items():
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]
            kind = service_class(f"rcl_interfaces/srv/{name}")
            node.create_service(
                kind, f"{node.get_name()}/{snake}", callback, qos_profile=qos_profile_parameters
            )

    def _node(self) -> NodeBase:
        node = self._node_weak_ref()
        if node is None:
            raise ReferenceError("Expected valid node weak reference")
        return node

    def _describe(self, request: Any, response: Any) -> Any:
        response.descriptors = _all_or_none(self._node().describe_parameter, request.names)
        return response

    def _get(self, request: Any, response: Any) -> Any:
        node = self._node()
        response.values = _all_or_none(
            lambda name: node.get_parameter(name).get_parameter_value(), request.names
        )
        return response

    def _get_types(self, request: Any, response: Any) -> Any:
        response.types = _all_or_none(self._node().get_parameter_type, request.names)
        return response

    def _list(self, request: Any, response: Any) -> Any:
        response.result = self._node().list_parameters(list(request.prefixes), request.depth)
        return response

    def _set(self, request: Any, response: Any) -> Any:
        node = self._node()
        for message in request.parameters:
            try:
                result = node.set_parameters_atomically([Parameter.from_parameter_msg(message)])
            except (ParameterNotDeclaredException, ValueError) as error:
                # ValueError: a value of a type that there is not.
                result = _refused(error)
            response.results.append(result)
        return response

    def _set_atomically(self, request: Any, response: Any) -> Any:
        try:
            parameters = [Parameter.from_parameter_msg(m) for m in request.parameters]
            response.result = self._node().set_parameters_atomically(parameters)
        except (ParameterNotDeclaredException, ValueError) as error:
            response.result = _refused(error)
        return response


def _all_or_none(read: Callable[[str], Any], names: list[str]) -> list[Any]:
    """What is read of each parameter; nothing where one of them has nothing to read."""
    try:
        return [read(name) for name in names]
    except (ParameterNotDeclaredException, ParameterUninitializedException):
        return []


def _refused(error: Exception) -> Any:
    return message_class("rcl_interfaces/msg/SetParametersResult")(successful=False, reason=str(error))
