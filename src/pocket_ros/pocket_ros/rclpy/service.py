"""Services: the answering side."""

from __future__ import annotations

import inspect
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import service_header
from .endpoint import ServiceEndpoint, ServiceParts
from .exceptions import RCLError
from .service_header import RequestHeader
from .service_introspection import EventKind
from .service_peers import ADVICE, ServicePeers, Strangers
from .type_support import SrvType, SrvTypeRequest, SrvTypeResponse

if TYPE_CHECKING:
    pass

__all__ = ["Service", "SrvType", "SrvTypeRequest", "SrvTypeResponse"]

_MATCH_TIMEOUT = 0.1
# Above this, those that have gone are looked for: a server that lives for weeks has had many clients.
_MOST_REACHABLE = 256
_MATCH_POLL = 0.001


class Service(ServiceEndpoint):
    """Answers requests of one type. Made by `Node.create_service`."""

    turn = 5

    def __init__(self, parts: ServiceParts, callback: Callable[[Any, Any], Any]) -> None:
        from ..interfaces.cdr import encoder

        super().__init__(parts)
        self.callback = callback
        self._encode = encoder(parts.srv_type.Response)
        self._reachable: set[int] = set()
        self._clients = ServicePeers(parts.reader)
        self._strangers = Strangers(lambda: self._node.context.graph, self._warn_of)

    def send_response(self, response: Any, header: Any) -> None:
        """Answer the request that came with `header`.

        Raises TypeError for what is no response of this service.
        """
        if not isinstance(response, self.srv_type.Response):
            raise TypeError(f"Expected {self.srv_type.Response}, got {type(response)}")
        self.check_alive()
        self._wait_until_reachable(header)
        self._writer.write(service_header.join(header, self._encode(response)))
        self._report(EventKind.RESPONSE_SENT, header, response)

    def take(self) -> Any | None:
        from ..interfaces import cdr

        self._drain()
        if not self.backlog:
            return None
        data, info = self.backlog.popleft()
        try:
            header = service_header.split(data)
            request = cdr.deserialize(data, self.srv_type.Request, service_header.FIELDS_OFFSET)
        except (struct.error, cdr.DeserializationError) as error:
            raise RCLError(f"received a request of '{self.srv_name}' that is none: {error}") from error
        header = RequestHeader(
            header.guid, header.sequence_number, info.publication_handle, info.source_timestamp
        )
        self._report(EventKind.REQUEST_RECEIVED, header, request)
        return request, header

    def service_take_request(self, request_type: type[Any]) -> tuple[Any, RequestHeader] | tuple[None, None]:
        """The next request with its header, or twice None: of `handle`, for programs that poll."""
        found = self.take()
        return (None, None) if found is None else found

    def _report(self, kind: EventKind, header: RequestHeader, content: Any) -> None:
        if self._events is not None:
            self._events.report(kind, header.client_gid, header.sequence_number, content)

    def _drain(self) -> None:
        """Take everything that has come: the middleware keeps only the last few requests."""
        while (sample := self._reader.take()) is not None:
            stranger = self._clients.stranger(sample[1].publication_handle)
            if stranger is None:
                self.backlog.append(sample)
            else:
                self._strangers.tell([stranger], at_once=True)

    def _warn_of(self, client: str) -> None:
        self._node.get_logger().warning(
            f"service '{self.srv_name}' is called by {client}, whose requests rmw_cyclonedds and pocket_ros"
            f" cannot read: they are ignored; {ADVICE}"
        )

    def run(self, work: Any) -> Any:
        request, header = work
        response = self.callback(request, self.srv_type.Response())
        if inspect.isawaitable(response):
            return self._answer_later(response, header)
        self.send_response(response, header)
        return None

    async def _answer_later(self, response: Any, header: RequestHeader) -> None:
        self.send_response(await response, header)

    def _wait_until_reachable(self, header: RequestHeader) -> None:
        """Wait, before the first answer to a client, until its reader is known here.

        What is written before that is lost to it.
        """
        handle = header.publication_handle
        if not handle or handle in self._reachable:
            return
        client = self._reader.matched_data(handle)
        if client is None:
            return
        wanted = service_header.identity(client.user_data, "clientid")
        deadline = time.monotonic() + _MATCH_TIMEOUT
        while time.monotonic() < deadline:
            for candidate in self._writer.matched_handles():
                found = self._writer.matched_data(candidate)
                if found is None or found.participant != client.participant:
                    continue
                if wanted is None or service_header.identity(found.user_data, "clientid") == wanted:
                    if len(self._reachable) >= _MOST_REACHABLE:
                        self._reachable.intersection_update(self._reader.matched_handles())
                    self._reachable.add(handle)
                    return
            self._drain()
            time.sleep(_MATCH_POLL)
