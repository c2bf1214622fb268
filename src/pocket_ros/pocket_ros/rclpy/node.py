"""Nodes."""

from __future__ import annotations

import time
from typing import Any

from .arguments import RosArguments, parse_arguments
from .clock import Clock, ROSClock
from .context import Context, get_default_context, timeout_sec_to_nsec
from .entity import CallbackGroup, Handle, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup, WithBlock
from .event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from .exceptions import (
    InvalidHandle,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    InvalidTopicNameException,
    NotInitializedException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from .executors import Executor
from .graph import GraphNode
from .logging import get_logger
from .node_entities import NodeBase
from .node_graph import NodeNameNonExistentError, TopicEndpointInfo
from .node_services import LoggingService, ParameterService, Rosout, TypeDescriptionService
from .parameter import PARAMETER_SEPARATOR_STRING, Parameter
from .publisher import Publisher
from .qos import QoSProfile, qos_profile_parameter_events
from .service import Client, Service
from .subscription import Subscription
from .time_source import TimeSource
from .timer import Rate, Timer
from .type_support import MsgType, SrvType, SrvTypeRequest, SrvTypeResponse
from .waitable import GuardCondition

# Programs import what a node's methods take, answer and raise from here as well.
__all__ = [
    "PARAMETER_SEPARATOR_STRING",
    "CallbackGroup",
    "Client",
    "Clock",
    "Context",
    "Executor",
    "GuardCondition",
    "InvalidHandle",
    "InvalidParameterTypeException",
    "InvalidParameterValueException",
    "InvalidTopicNameException",
    "MsgType",
    "MutuallyExclusiveCallbackGroup",
    "Node",
    "NodeNameNonExistentError",
    "NotInitializedException",
    "Parameter",
    "ParameterAlreadyDeclaredException",
    "ParameterImmutableException",
    "ParameterNotDeclaredException",
    "ParameterUninitializedException",
    "Publisher",
    "PublisherEventCallbacks",
    "QoSProfile",
    "ROSClock",
    "Rate",
    "ReentrantCallbackGroup",
    "Service",
    "SrvType",
    "SrvTypeRequest",
    "SrvTypeResponse",
    "Subscription",
    "SubscriptionEventCallbacks",
    "Timer",
    "TopicEndpointInfo",
    "get_default_context",
    "get_logger",
]

HIDDEN_NODE_PREFIX = "_"


class Node(NodeBase, WithBlock):
    """A node: a name in the graph, and what it publishes, subscribes to, serves and asks.

    Subclasses keep their own state here too: what is not public starts with `_ros_`, or has the name it has
    in rclpy.

    Raises NotInitializedException without an initialised context, InvalidNodeNameException and
    InvalidNamespaceException.
    """

    def __init__(
        self,
        node_name: str,
        *,
        context: Context | None = None,
        cli_args: list[str] | None = None,
        namespace: str | None = None,
        use_global_arguments: bool = True,
        enable_rosout: bool = True,
        start_parameter_services: bool = True,
        parameter_overrides: list[Parameter] | None = None,
        allow_undeclared_parameters: bool = False,
        automatically_declare_parameters_from_overrides: bool = False,
        enable_logger_service: bool = False,
    ) -> None:
        self._context = get_default_context() if context is None else context
        if not self._context.ok():
            raise NotInitializedException("cannot create node")
        self._ros_arguments = _arguments(self._context, cli_args, use_global_arguments)
        self._ros_destroyed = False
        self._ros_set_names(node_name, namespace or "")
        self._ros_init_entities()
        self._ros_init_parameters(allow_undeclared_parameters, self._ros_overrides(parameter_overrides))
        self._clock = ROSClock()
        self._ros_graph_node = GraphNode(self._ros_name, self._ros_namespace, self._context.arguments.enclave)
        self._context.graph.add_node(self._ros_graph_node)
        self._ros_rosout = (
            Rosout(self, self._logger.name) if enable_rosout and self._ros_arguments.rosout else None
        )
        self._parameter_event_publisher = self.create_publisher(
            _parameter_event(), "/parameter_events", qos_profile_parameter_events
        )
        if automatically_declare_parameters_from_overrides:
            overrides = [(name, p.value) for name, p in self._parameter_overrides.items()]
            self.declare_parameters("", overrides, ignore_override=True)
        self._ros_start_services(start_parameter_services, enable_logger_service)

    def _ros_start_services(self, parameters: bool, logger: bool) -> None:
        """What a node does of itself: follow simulated time, and answer questions."""
        self._time_source = TimeSource(node=self)
        self._time_source.attach_clock(self._clock)
        if parameters:
            self._parameter_service = ParameterService(self)
        if logger:
            self._logger_service = LoggingService(self)
        self._type_description_service = TypeDescriptionService(self)

    def _ros_overrides(self, given: list[Parameter] | None) -> dict[str, Parameter]:
        values = self._ros_arguments.overrides(self.get_fully_qualified_name())
        overrides = {name: Parameter(name, value=value) for name, value in values.items()}
        overrides.update({p.name: p for p in given or []})
        return overrides

    @property
    def handle(self) -> Handle[Node]:
        """What stands for the node in a `with` block. Raises InvalidHandle after destruction."""
        self._ros_check()
        return Handle(self)

    def destroy_node(self) -> None:
        """End the node and everything it consists of; doing so twice changes nothing."""
        if self._ros_destroyed:
            return
        self._ros_destroyed = True
        executor = self._ros_running_executor()
        if executor is not None:
            executor.remove_node(self)
        if self._ros_rosout is not None:
            self._ros_rosout.close()
        self._time_source.detach()
        for waitable in list(self.waitables):
            if hasattr(waitable, "destroy"):
                waitable.destroy()
        owned: list[list[Any]] = [
            self._publishers,
            self._subscriptions,
            self._clients,
            self._services,
            self._timers,
            self._guards,
        ]
        for entities in owned:
            for entity in list(entities):
                entity.destroy()
            entities.clear()
        if self._context.ok():
            self._context.graph.remove_node(self._ros_graph_node)

    def _end_block(self) -> None:
        self.destroy_node()


def _arguments(context: Context, cli_args: list[str] | None, use_global: bool) -> RosArguments:
    """The node's own arguments come before those of the process."""
    own = cli_args or []
    parsed = parse_arguments(own if "--ros-args" in own else ["--ros-args", *own] if own else [])
    if not use_global:
        return parsed
    everyone = context.arguments
    return RosArguments(
        remaps=parsed.remaps + everyone.remaps,
        parameters=everyone.parameters + parsed.parameters,
        enclave=everyone.enclave,
        rosout=everyone.rosout and parsed.rosout,
    )


def _parameter_event() -> Any:
    from ..interfaces.classes import message_class

    return message_class("rcl_interfaces/msg/ParameterEvent")


# Waiting for one message.


_FOREVER = (1 << 63) - 1
_LONGEST_WAIT_NS = 100_000_000


def wait_for_message(
    msg_type: type[Any],
    node: Node,
    topic: str,
    *,
    qos_profile: QoSProfile | int = 1,
    time_to_wait: float | int = -1,
) -> tuple[bool, Any]:
    """Whether a message came within `time_to_wait` seconds (negative is forever), and the message.

    Nothing else of the node runs meanwhile.
    """
    from ..dds.participant import WaitSet

    subscription = node._ros_create_subscription(msg_type, topic, lambda _: None, qos_profile)
    wait_set = WaitSet()
    timeout = timeout_sec_to_nsec(time_to_wait)
    deadline = time.monotonic_ns() + (_FOREVER // 2 if timeout < 0 else timeout)
    try:
        wait_set.attach(subscription.conditions()[0], 1)
        while node.context.ok():
            taken = subscription.handle.take_message(msg_type, False)
            if taken is not None:
                return True, taken[0]
            left = deadline - time.monotonic_ns()
            if left <= 0:
                break
            # Short enough for signal handlers and shutdown to get their turn.
            wait_set.wait(min(left, _LONGEST_WAIT_NS))
        return False, None
    finally:
        wait_set.close()
        subscription.destroy()
