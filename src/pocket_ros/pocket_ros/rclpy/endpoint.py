"""What publishers, subscriptions, clients and services share: a node they belong to, and an end."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .callback_groups import CallbackGroup
from .clock import Clock
from .entity import Destroyable, Entity
from .handle import Handled
from .qos import QoSProfile
from .service_introspection import (
    SERVICE_EVENT_POSTFIX,
    EventPublisher,
    ServiceEvents,
    ServiceIntrospectionState,
)
from .with_block import WithBlock

if TYPE_CHECKING:
    from ..dds.endpoints import Reader, Writer
    from .context import Context
    from .impl.rcutils_logger import RcutilsLogger


class EndpointOwner(Protocol):
    """What an endpoint asks of its node. The node makes endpoints, so it is above them."""

    @property
    def context(self) -> Context: ...

    def get_logger(self) -> RcutilsLogger: ...

    def _ros_create_publisher(
        self, msg_type: type[Any], topic: str, qos_profile: QoSProfile
    ) -> EventPublisher: ...

    def _ros_forget_writer(self, writer: Writer) -> None: ...

    def _ros_forget_reader(self, reader: Reader) -> None: ...


class Endpoint(Destroyable, WithBlock):
    """Something of a node that the middleware announces; `destroy`, or the end of a `with` block, ends it."""

    _node: EndpointOwner

    @property
    def logger_name(self) -> str:
        """The name of the node's logger."""
        return self._node.get_logger().name

    def destroy(self) -> None:
        """End it; doing so twice changes nothing."""
        if not self._destroyed:
            self._destroyed = True
            self._leave()

    def _leave(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines how it ends")

    def _end_block(self) -> None:
        self.destroy()


class TopicEndpoint(Endpoint):
    """A publisher or a subscription: one end of a topic, with the handlers of its events."""

    def __init__(self, node: EndpointOwner, msg_type: type[Any], topic: str, qos_profile: QoSProfile) -> None:
        self._node = node
        self.msg_type: Any = msg_type
        self.topic = topic
        self.qos_profile = qos_profile
        self.event_handlers: list[Any] = []

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        return self.topic

    def _leave(self) -> None:
        # Before their endpoint: a handler that runs meanwhile would ask the middleware about nothing.
        for handler in self.event_handlers:
            handler.destroy()


class ServiceParts(NamedTuple):
    """What the node makes a client or a service of."""

    node: EndpointOwner
    writer: Writer
    reader: Reader
    srv_type: type[Any]
    srv_name: str
    callback_group: CallbackGroup | None
    qos_profile: QoSProfile


class ServiceEndpoint(Endpoint, Entity, Handled):
    """A client or a service: each has a writer and a reader."""

    def __init__(self, parts: ServiceParts) -> None:
        Entity.__init__(self, parts.callback_group)
        self._node = parts.node
        self._writer = parts.writer
        self._reader = parts.reader
        self._events: ServiceEvents | None = None
        self.srv_type = parts.srv_type
        self.srv_name = parts.srv_name
        self.qos_profile = parts.qos_profile

    @property
    def service_name(self) -> str:
        """The full name of the service."""
        return self.srv_name

    def configure_introspection(
        self,
        clock: Clock,
        service_event_qos_profile: QoSProfile,
        introspection_state: ServiceIntrospectionState,
    ) -> None:
        """Publish the calls on `<service>/_service_event`, with stamps of `clock`; or no longer.

        Raises TypeError for what is no clock, profile or state, InvalidHandle after destruction.
        """
        self.check_alive()
        for given, wanted in (
            (clock, Clock),
            (service_event_qos_profile, QoSProfile),
            (introspection_state, ServiceIntrospectionState),
        ):
            if not isinstance(given, wanted):
                raise TypeError(f"configure_introspection() takes a {wanted.__name__}, not {given!r}")
        off = introspection_state is ServiceIntrospectionState.OFF
        if self._events is not None:
            if not off and self._events.profile == service_event_qos_profile:
                self._events.change(clock, introspection_state)
                return
            events, self._events = self._events, None
            events.close()
        if not off:
            kind = self.srv_type.Event
            publisher = self._node._ros_create_publisher(
                kind, self.srv_name + SERVICE_EVENT_POSTFIX, service_event_qos_profile
            )
            # A copy: the program may go on to change its own.
            profile = copy.copy(service_event_qos_profile)
            self._events = ServiceEvents(publisher, kind, clock, profile, introspection_state)

    def conditions(self) -> list[int]:
        return [self._reader.condition]

    def _leave(self) -> None:
        if self._events is not None:
            self._events.close()
        self._node._ros_forget_writer(self._writer)
        self._node._ros_forget_reader(self._reader)
        self._writer.close()
        self._reader.close()
