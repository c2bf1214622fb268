"""Clients: the asking side of a service."""

from __future__ import annotations

import struct
import time
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from . import service_header
from .context import Context
from .endpoint import ServiceEndpoint, ServiceParts
from .exceptions import RCLError
from .service_header import RequestHeader
from .service_introspection import EventKind
from .service_peers import ADVICE, ServicePeers, Strangers
from .task import Future
from .type_support import SrvType, SrvTypeRequest, SrvTypeResponse

if TYPE_CHECKING:
    pass

__all__ = ["Client", "SrvType", "SrvTypeRequest", "SrvTypeResponse"]

_FIRST_POLL, _LAST_POLL = 0.0005, 0.05


class Client(ServiceEndpoint):
    """Sends requests to a service. Made by `Node.create_client`. Futures pending at its end stay undone."""

    turn = 4

    def __init__(self, parts: ServiceParts, identity: bytes) -> None:
        from ..interfaces.cdr import encoder

        super().__init__(parts)
        self.context: Context = parts.node.context
        self._guid = parts.writer.instance_handle()
        self._servers, self._repliers = ServicePeers(parts.writer), ServicePeers(parts.reader)
        self._strangers = Strangers(lambda: self.context.graph, self._warn_of)
        self._identity = identity
        self._encode = encoder(parts.srv_type.Request)
        self._pending: dict[int, Future[Any]] = {}
        self._sequence = 0
        self._lock = Lock()

    def call(self, request: Any, timeout_sec: float | None = None) -> Any:
        """Ask and wait for the answer; None on timeout.

        Another thread, or another callback group, has to spin.

        Raises TypeError for what is no request of this service, RCLError as `call_async`.
        """
        event = Event()
        future = self.call_async(request)
        future.add_done_callback(lambda _: event.set())
        self.context.on_shutdown(event.set)
        if not event.wait(timeout_sec):
            self.remove_pending_request(future)
            return None
        return future.result()

    def call_async(self, request: Any) -> Future[Any]:
        """Ask; the future gets the answer.

        Raises TypeError for what is no request of this service, RCLError where a server of another DDS vendor
        would take it for another one.
        """
        return self.send(request)[1]

    def send(self, request: Any) -> tuple[RequestHeader, Future[Any]]:
        """As `call_async`, with the header that the request was sent with."""
        if not isinstance(request, self.srv_type.Request):
            raise TypeError(f"Expected {self.srv_type.Request}, got {type(request)}")
        self.check_alive()
        self._refuse_strangers()
        future: Future[Any] = Future()
        with self._lock:
            self._sequence += 1
            header = RequestHeader(self._guid, self._sequence)
            self._pending[header.sequence_number] = future
            self._writer.write(service_header.join(header, self._encode(request)))
        if self._events is not None:
            self._events.report(EventKind.REQUEST_SENT, self._identity, header.sequence_number, request)
        return header, future

    def get_pending_request(self, sequence_number: int) -> Future[Any]:
        """The future of a request. Raises KeyError where it is not pending."""
        return self._pending[sequence_number]

    def remove_pending_request(self, future: Future[Any]) -> None:
        """Forget a request; its answer will be ignored."""
        with self._lock:
            for number, pending in self._pending.items():
                if pending is future:
                    del self._pending[number]
                    return

    def service_is_ready(self) -> bool:
        """Whether a server would receive a request and answer it.

        One of another DDS vendor would not; the log says so, once.
        """
        return self._is_ready()

    def _is_ready(self, *, tell_at_once: bool = False) -> bool:
        self.check_alive()
        found, strangers = self._servers.sort()
        self._strangers.tell(strangers, at_once=tell_at_once)
        return found and self._repliers.sort()[0]

    def _refuse_strangers(self) -> None:
        """Raise RCLError where a request would reach a server that misunderstands it."""
        _, strangers = self._servers.sort()
        if strangers:
            server = self._strangers.description(strangers[0])
            raise RCLError(
                f"service '{self.srv_name}' is not called: {server} offers it and would misread the request;"
                f" {ADVICE}"
            )

    def _warn_of(self, server: str) -> None:
        self._node.get_logger().warning(
            f"service '{self.srv_name}' is offered by {server}, whose services rmw_cyclonedds and pocket_ros"
            f" cannot call: it counts as not there; {ADVICE}"
        )

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait for a server; False on timeout and shutdown."""
        deadline = None if timeout_sec is None or timeout_sec < 0 else time.monotonic() + timeout_sec
        pause = _FIRST_POLL
        while self.context.ok():
            if self.service_is_ready():
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return self._is_ready(tell_at_once=True)
            left = _LAST_POLL if deadline is None else deadline - time.monotonic()
            time.sleep(max(min(pause, left), 0.0))
            pause = min(pause * 2, _LAST_POLL)
        return False

    def take(self) -> Any | None:
        from ..interfaces import cdr

        # Take everything that has come: the middleware keeps only the last few, and a reply must not be lost.
        while (sample := self._reader.take()) is not None:
            data, info = sample
            if self._repliers.stranger(info.publication_handle) is not None:
                continue  # the answer of another protocol, to a client of that protocol
            try:
                header = service_header.split(data)
                if header.guid != self._guid:
                    continue  # the answer to another client of the service
                response = cdr.deserialize(data, self.srv_type.Response, service_header.FIELDS_OFFSET)
            except (struct.error, cdr.DeserializationError) as error:
                raise RCLError(f"received a reply of '{self.srv_name}' that is none: {error}") from error
            if self._events is not None:
                self._events.report(
                    EventKind.RESPONSE_RECEIVED, self._identity, header.sequence_number, response
                )
            with self._lock:
                future = self._pending.pop(header.sequence_number, None)
            if future is not None:
                self.backlog.append((future, response))
        return self.backlog.popleft() if self.backlog else None

    def run(self, work: Any) -> Any:
        future, response = work
        future.set_result(response)
