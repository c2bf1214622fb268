"""Services: what both sides share, the side that answers, and the side that asks."""

from __future__ import annotations

import inspect
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from .context import Context
from .endpoint import EventKind, ServiceEndpoint, ServiceParts
from .exceptions import RCLError
from .task import Future
from .type_support import SrvType as SrvType
from .type_support import SrvTypeRequest as SrvTypeRequest
from .type_support import SrvTypeResponse as SrvTypeResponse

if TYPE_CHECKING:
    from ..dds.endpoints import MatchedEndpoint, Reader, Writer
    from .graph import Graph

__all__ = ["Service", "SrvType", "SrvTypeRequest", "SrvTypeResponse"]


# The sixteen bytes in front of every request and reply, and how the two ends know each other.


_FORMAT = struct.Struct("<Qq")
_GID = struct.Struct("<QQ")
FIELDS_OFFSET = 4 + _FORMAT.size


@dataclass(frozen=True)
class RequestHeader:
    """Who asks (the guid of the client, 64 bits) and which of its requests this is."""

    guid: int
    sequence_number: int
    publication_handle: int = 0
    source_timestamp: int = 0

    @property
    def request_id(self) -> RequestHeader:
        return self

    @property
    def client_gid(self) -> bytes:
        """The client as the service's side knows it, 16 bytes."""
        return _GID.pack(self.guid, self.publication_handle)


def join(header: RequestHeader, data: bytes | bytearray) -> bytes:
    """CDR with the header between encapsulation and fields, padded for the wire."""
    joined = bytes(data[:4]) + _FORMAT.pack(header.guid, header.sequence_number) + bytes(data[4:])
    return joined.ljust(len(joined) + 3 & ~3, b"\x00")


def split(data: bytes) -> RequestHeader:
    """The header of a request or reply. Raises `struct.error` where `data` is too short."""
    order = _FORMAT if data[1] & 1 else struct.Struct(">Qq")
    return RequestHeader(*order.unpack_from(data, 4))


def identity(user_data: bytes, key: str) -> str | None:
    """The value of `serviceid` or `clientid` in the user data of an endpoint."""
    for part in user_data.decode("ascii", "replace").split(";"):
        name, separator, value = part.partition("=")
        if separator and name == key:
            return value.strip()
    return None


def endpoint_id(participant: bytes, number: int) -> bytes:
    """What tells a client or service from all others of the domain, 16 bytes.

    `number` counts the services and clients of a participant.
    """
    return participant[:12] + number.to_bytes(4, "big")


def user_data(type_hash: str, key: str, endpoint: bytes) -> bytes:
    """User data of both ends of a service or client, by its `endpoint_id`."""
    return f"{key}= {'.'.join(f'{byte:x}' for byte in endpoint)};typehash={type_hash};".encode()


# Who is on the other side of a service, and who of them speaks another protocol. rmw_cyclonedds, and
# pocket_ros with it, puts the identity of a request into the data, before its fields. Other DDS vendors
# send it beside the data, where Cyclone DDS neither reads nor writes it. Topic and type have the same
# names, so discovery matches the two sides, and each would take the header of the other for fields.


# The first two bytes of every guid, by the RTPS specification.
_CYCLONE = b"\x01\x10"
_VENDORS = {
    b"\x01\x01": "RTI Connext DDS",
    b"\x01\x03": "OpenDDS",
    b"\x01\x0f": "eProsima Fast DDS",
    b"\x01\x11": "GurumDDS",
    b"\x01\x12": "RustDDS",
}
ADVICE = "start that node with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp"
# Discovery tells of an endpoint before it tells of its node.
_NAMED_AFTER_S = 1.0
# Above this, those that have gone are looked for.
_MOST_KNOWN = 256


class ServicePeers:
    """The endpoints on the other side of one writer or reader of a service."""

    def __init__(self, endpoint: Reader | Writer) -> None:
        self._endpoint = endpoint
        self._known: dict[int, MatchedEndpoint | None] = {}

    def stranger(self, instance: int) -> MatchedEndpoint | None:
        """The peer of this instance handle, where its protocol is another; None for all others."""
        if instance in self._known:
            return self._known[instance]
        peer = self._endpoint.matched_data(instance)
        if peer is None:
            return None  # it has gone: who it was nobody knows, and nothing is kept
        if len(self._known) >= _MOST_KNOWN:
            left = set(self._endpoint.matched_handles())
            self._known = {handle: known for handle, known in self._known.items() if handle in left}
        found = None if peer.guid[:2] == _CYCLONE else peer
        self._known[instance] = found
        return found

    def sort(self) -> tuple[bool, list[MatchedEndpoint]]:
        """Whether there is a peer of the same protocol, and those of another."""
        handles = self._endpoint.matched_handles()
        strangers = [peer for handle in handles if (peer := self.stranger(handle)) is not None]
        return len(strangers) < len(handles), strangers


class Strangers:
    """Warns of peers whose protocol is another, once of each and by name."""

    def __init__(self, graph: Callable[[], Graph], warn: Callable[[str], object]) -> None:
        self._graph = graph
        self._warn = warn
        self._seen: dict[bytes, float] = {}
        self._told: set[bytes] = set()

    def tell(self, peers: list[MatchedEndpoint], *, at_once: bool = False) -> None:
        """Warn of those not told of yet: when their node is known, after a second, or `at_once`."""
        for peer in peers:
            if peer.guid in self._told:
                continue
            now = time.monotonic()
            since = now - self._seen.setdefault(peer.guid, now)
            node = _node_of(self._graph(), peer)
            if node or at_once or since > _NAMED_AFTER_S:
                self._told.add(peer.guid)
                self._warn(_described(node, peer))

    def description(self, peer: MatchedEndpoint) -> str:
        """Who a stranger is, for people."""
        return _described(_node_of(self._graph(), peer), peer)


def _node_of(graph: Graph, peer: MatchedEndpoint) -> str:
    for node in graph.nodes():
        if peer.guid in node.readers or peer.guid in node.writers:
            return node.full_name
    return ""


def _described(node: str, peer: MatchedEndpoint) -> str:
    vendor = _VENDORS.get(peer.guid[:2], f"the DDS of vendor {peer.guid[0]:02x}.{peer.guid[1]:02x}")
    return f"node '{node}' ({vendor})" if node else f"a node of {vendor}"


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
        self._writer.write(join(header, self._encode(response)))
        self._report(EventKind.RESPONSE_SENT, header, response)

    def take(self) -> Any | None:
        from ..interfaces import cdr

        self._drain()
        if not self.backlog:
            return None
        data, info = self.backlog.popleft()
        try:
            header = split(data)
            request = cdr.deserialize(data, self.srv_type.Request, FIELDS_OFFSET)
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
        wanted = identity(client.user_data, "clientid")
        deadline = time.monotonic() + _MATCH_TIMEOUT
        while time.monotonic() < deadline:
            for candidate in self._writer.matched_handles():
                found = self._writer.matched_data(candidate)
                if found is None or found.participant != client.participant:
                    continue
                if wanted is None or identity(found.user_data, "clientid") == wanted:
                    if len(self._reachable) >= _MOST_REACHABLE:
                        self._reachable.intersection_update(self._reader.matched_handles())
                    self._reachable.add(handle)
                    return
            self._drain()
            time.sleep(_MATCH_POLL)


# Clients: the asking side of a service.


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
            self._writer.write(join(header, self._encode(request)))
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
                header = split(data)
                if header.guid != self._guid:
                    continue  # the answer to another client of the service
                response = cdr.deserialize(data, self.srv_type.Response, FIELDS_OFFSET)
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
