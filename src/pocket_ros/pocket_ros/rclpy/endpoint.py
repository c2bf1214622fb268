"""What publishers, subscriptions, clients and services share: a node they belong to, and an end."""

from __future__ import annotations

import copy
from enum import IntEnum
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .clock import Clock
from .entity import CallbackGroup, Destroyable, Entity, Handled, WithBlock
from .qos import QoSProfile

if TYPE_CHECKING:
    from ..dds.endpoints import Reader, Writer
    from .context import Context
    from .logging import RcutilsLogger


# Publishing what happens to the calls of a service, for those who look on.


SERVICE_EVENT_POSTFIX = "/_service_event"


class ServiceIntrospectionState(IntEnum):
    """What is published of a call: nothing, that it happened, or that with its request or response."""

    OFF = 0
    METADATA = 1
    CONTENTS = 2


class EventKind(IntEnum):
    """The steps of a call, as `service_msgs/msg/ServiceEventInfo` numbers them."""

    REQUEST_SENT = 0
    REQUEST_RECEIVED = 1
    RESPONSE_SENT = 2
    RESPONSE_RECEIVED = 3


class EventPublisher(Protocol):
    """What publishes the events."""

    def publish(self, msg: Any) -> None: ...

    def destroy(self) -> None: ...


class ServiceEvents:
    """The events of one client or service while they are asked for."""

    def __init__(
        self,
        publisher: EventPublisher,
        event_type: Any,
        clock: Clock,
        profile: QoSProfile,
        state: ServiceIntrospectionState,
    ) -> None:
        self._publisher: EventPublisher | None = publisher
        self._event_type = event_type
        self._clock = clock
        self.profile = profile
        self._state = state
        # Calls may be made and answered in other threads than the one that reconfigures.
        self._lock = Lock()

    def change(self, clock: Clock, state: ServiceIntrospectionState) -> None:
        """Publish more or less from now on, with the stamps of another clock."""
        with self._lock:
            self._clock, self._state = clock, state

    def report(self, kind: EventKind, client_gid: bytes, number: int, content: Any) -> None:
        """Publish one step of the call `number` of a client; `content` is the request or the response."""
        with self._lock:
            if self._publisher is None:
                return
            event = self._event_type()
            event.info.event_type = int(kind)
            event.info.stamp = self._clock.now().to_msg()
            event.info.client_gid = client_gid
            event.info.sequence_number = number
            if self._state is ServiceIntrospectionState.CONTENTS:
                requested = kind in (EventKind.REQUEST_SENT, EventKind.REQUEST_RECEIVED)
                (event.request if requested else event.response).append(content)
            self._publisher.publish(event)

    def close(self) -> None:
        """Publish nothing more."""
        with self._lock:
            publisher, self._publisher = self._publisher, None
        if publisher is not None:
            publisher.destroy()


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
