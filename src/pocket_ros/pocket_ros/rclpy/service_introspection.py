"""Publishing what happens to the calls of a service, for those who look on."""

from __future__ import annotations

from enum import IntEnum
from threading import Lock
from typing import Any, Protocol

from .clock import Clock
from .qos import QoSProfile

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
