"""The services by which other nodes read and set a node's parameters."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..interfaces import catalog
from ..interfaces import catalog as hashing
from ..interfaces.classes import message_class, service_class
from . import logging as log_output
from .exceptions import ParameterNotDeclaredException, ParameterUninitializedException, RCLError
from .logging import LogRecord, get_logger_level, set_logger_level
from .parameter import Parameter
from .qos import qos_profile_parameters, qos_profile_rosout_default
from .service import Service

if TYPE_CHECKING:
    from .node_entities import NodeBase


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


# `~/get_logger_levels` and `~/set_logger_levels`.


class LoggingService:
    """The two services of a node."""

    def __init__(self, node: NodeBase) -> None:
        for name, callback in (("get_logger_levels", self._get), ("set_logger_levels", self._set)):
            kind = "".join(word.capitalize() for word in name.split("_"))
            node.create_service(
                service_class(f"rcl_interfaces/srv/{kind}"), f"{node.get_name()}/{name}", callback
            )

    def _get(self, request: Any, response: Any) -> Any:
        level = message_class("rcl_interfaces/msg/LoggerLevel")
        response.levels = [level(name=name, level=int(get_logger_level(name))) for name in request.names]
        return response

    def _set(self, request: Any, response: Any) -> Any:
        result = message_class("rcl_interfaces/msg/SetLoggerLevelsResult")
        for level in request.levels:
            try:
                set_logger_level(level.name, level.level)
                response.results.append(result(successful=True))
            except ValueError:
                response.results.append(
                    result(successful=False, reason="Failed reason: Invalid logger level.")
                )
        return response


# Log messages on `/rosout`.


class Rosout:
    """Publishes what a node's logger and its children write."""

    def __init__(self, node: NodeBase, logger_name: str) -> None:
        self._name = logger_name
        self._log: Any = message_class("rcl_interfaces/msg/Log")
        self._time: Any = message_class("builtin_interfaces/msg/Time")
        # None of the node's own publishers: programs that go through those do not expect it.
        self._publisher = node._ros_create_publisher(self._log, "/rosout", qos_profile_rosout_default)
        log_output.add_sink(logger_name, self._publish)

    def _publish(self, record: LogRecord) -> None:
        seconds, nanoseconds = divmod(record.stamp, 10**9)
        message = self._log(
            stamp=self._time(sec=seconds, nanosec=nanoseconds),
            level=int(record.severity),
            name=record.name,
            msg=record.message,
            file=record.file_name,
            function=record.function_name,
            line=record.line_number,
        )
        try:
            self._publisher.publish(message)
        except RCLError:
            self.close()  # after shutdown the console remains

    def close(self) -> None:
        """Stop publishing."""
        log_output.remove_sink(self._name, self._publish)
        self._publisher.destroy()


# `~/get_type_description`: tells other nodes what a type hash stands for.


START_TYPE_DESCRIPTION_SERVICE_PARAM = "start_type_description_service"


class TypeDescriptionService:
    """The service, unless the parameter `start_type_description_service` is false."""

    def __init__(self, node: NodeBase) -> None:
        self._node = node
        self._service: Service | None = None
        if not node.has_parameter(START_TYPE_DESCRIPTION_SERVICE_PARAM):
            descriptor = message_class("rcl_interfaces/msg/ParameterDescriptor")(
                name=START_TYPE_DESCRIPTION_SERVICE_PARAM,
                type=Parameter.Type.BOOL.value,
                description="If enabled, start the ~/get_type_description service.",
                read_only=True,
            )
            node.declare_parameter(START_TYPE_DESCRIPTION_SERVICE_PARAM, True, descriptor)
        if node.get_parameter(START_TYPE_DESCRIPTION_SERVICE_PARAM).value:
            kind = service_class("type_description_interfaces/srv/GetTypeDescription")
            self._service = node.create_service(kind, "~/get_type_description", self._answer)

    def destroy(self) -> None:
        """End the service; doing so twice changes nothing."""
        if self._service is not None:
            self._node.destroy_service(self._service)
            self._service = None

    def _answer(self, request: Any, response: Any) -> Any:
        try:
            known = hashing.type_hash(request.type_name)
        except catalog.UnknownInterfaceError as error:
            response.failure_reason = str(error)
            return response
        if request.type_hash and request.type_hash != known:
            response.failure_reason = f"'{request.type_name}' is {known} here, not {request.type_hash}"
            return response
        description = hashing.type_description(request.type_name)
        response.type_description.type_description = _individual(description["type_description"])
        response.type_description.referenced_type_descriptions = [
            _individual(d) for d in description["referenced_type_descriptions"]
        ]
        if request.include_type_sources:
            names = [
                request.type_name,
                *(d["type_name"] for d in description["referenced_type_descriptions"]),
            ]
            response.type_sources = [_source(name) for name in names]
        response.successful = True
        return response


def _source(name: str) -> Any:
    """The text that a type was read from. Parts of services and actions are in that of their owner."""
    text = catalog.source_text(name)
    return message_class("type_description_interfaces/msg/TypeSource")(
        type_name=name,
        encoding="implicit" if text is None else name.split("/")[1],
        raw_file_contents=text or "",
    )


def _individual(description: dict[str, Any]) -> Any:
    def make(kind: str, /, **values: Any) -> Any:
        return message_class(f"type_description_interfaces/msg/{kind}")(**values)

    fields = [
        make("Field", name=f["name"], type=make("FieldType", **f["type"])) for f in description["fields"]
    ]
    return make("IndividualTypeDescription", type_name=description["type_name"], fields=fields)
