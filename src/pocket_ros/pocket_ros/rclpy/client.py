"""Clients: the asking side of a service."""

from __future__ import annotations

import struct
import time
from threading import Event, Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import service_header
from .callback_groups import CallbackGroup
from .context import Context
from .entity import Entity
from .exceptions import RCLError
from .qos import QoSProfile
from .service_header import RequestHeader
from .task import Future

if TYPE_CHECKING:
    from ..dds.endpoints import Reader, Writer
    from .node import Node

_FIRST_POLL, _LAST_POLL = 0.0005, 0.05


class Client(Entity):
    """Sends requests to a service. Made by `Node.create_client`."""

    def __init__(
        self,
        node: Node,
        writer: Writer,
        reader: Reader,
        srv_type: Any,
        srv_name: str,
        callback_group: CallbackGroup | None,
        qos_profile: QoSProfile,
    ) -> None:
        from ..interfaces.cdr import encoder

        super().__init__(callback_group)
        self.context: Context = node.context
        self.srv_type = srv_type
        self.srv_name = srv_name
        self.qos_profile = qos_profile
        self._node = node
        self._writer = writer
        self._reader = reader
        self._guid = writer.instance_handle()
        self._encode = encoder(srv_type.Request)
        self._pending: dict[int, Future[Any]] = {}
        self._sequence = 0
        self._lock = Lock()

    @property
    def service_name(self) -> str:
        """The full name of the service."""
        return self.srv_name

    @property
    def handle(self) -> Client:
        self.check_alive()
        return self

    @property
    def logger_name(self) -> str:
        return self._node.get_logger().name

    def call(self, request: Any, timeout_sec: float | None = None) -> Any:
        """Ask and wait for the answer; None on timeout.

        Another thread, or another callback group, has to spin.

        Raises TypeError for what is no request of this service.
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
        """Ask; the future gets the answer. Raises TypeError for what is no request of this service."""
        if not isinstance(request, self.srv_type.Request):
            raise TypeError(f"Expected {self.srv_type.Request}, got {type(request)}")
        self.check_alive()
        future: Future[Any] = Future()
        with self._lock:
            self._sequence += 1
            header = RequestHeader(self._guid, self._sequence)
            self._pending[header.sequence_number] = future
            self._writer.write(service_header.join(header, self._encode(request)))
        return future

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
        """Whether a server would receive a request and answer it."""
        self.check_alive()
        return self._writer.matched_count() > 0 and self._reader.matched_count() > 0

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait for a server; False on timeout and shutdown."""
        deadline = None if timeout_sec is None or timeout_sec < 0 else time.monotonic() + timeout_sec
        pause = _FIRST_POLL
        while self.context.ok():
            if self.service_is_ready():
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            left = _LAST_POLL if deadline is None else deadline - time.monotonic()
            time.sleep(max(min(pause, left), 0.0))
            pause = min(pause * 2, _LAST_POLL)
        return False

    def configure_introspection(
        self, clock: Any, service_event_qos_profile: QoSProfile, introspection_state: Any
    ) -> None:
        raise NotImplementedError("Client.configure_introspection is not covered; a full ROS 2 has it")

    def destroy(self) -> None:
        """End; pending futures stay undone."""
        if not self._destroyed:
            self._destroyed = True
            self._node._ros_forget_writer(self._writer)
            self._node._ros_forget_reader(self._reader)
            self._writer.close()
            self._reader.close()

    def conditions(self) -> list[int]:
        return [self._reader.condition]

    def take(self) -> Any | None:
        from ..interfaces import cdr

        # Take everything that has come: the middleware keeps only the last few, and a reply must not be lost.
        while (sample := self._reader.take()) is not None:
            data, _ = sample
            try:
                header = service_header.split(data)
                if header.guid != self._guid:
                    continue  # the answer to another client of the service
                response = cdr.deserialize(data, self.srv_type.Response, service_header.FIELDS_OFFSET)
            except (struct.error, cdr.DeserializationError) as error:
                raise RCLError(f"received a reply of '{self.srv_name}' that is none: {error}") from error
            with self._lock:
                future = self._pending.pop(header.sequence_number, None)
            if future is not None:
                self.backlog.append((future, response))
        return self.backlog.popleft() if self.backlog else None

    def run(self, work: Any) -> Any:
        future, response = work
        future.set_result(response)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.destroy()
