"""What this participant tells the domain of its nodes, and what it knows of everybody's.

`ros_discovery_info` ties endpoints to nodes. It is published shortly after changes, many changes at once: a
node with
thousands of endpoints would otherwise send their list thousands of times.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass, field
from threading import Event, RLock, Thread

from ..dds import endpoints as dds
from ..dds.discovery import Discovery, Endpoint
from ..dds.participant import Participant
from ..interfaces import cdr
from ..interfaces.catalog import type_hash
from .type_support import dds_type_name

# A node as the graph knows it.


@dataclass
class GraphNode:
    """A node of some participant and the guids of its endpoints."""

    name: str
    namespace: str
    enclave: str = "/"
    readers: set[bytes] = field(default_factory=set)
    writers: set[bytes] = field(default_factory=set)

    @property
    def full_name(self) -> str:
        return f"{self.namespace.rstrip('/')}/{self.name}"


# `ros_discovery_info`: which endpoints belong to which node, as participants tell one another.


TOPIC = "ros_discovery_info"
TYPE = "rmw_dds_common/msg/ParticipantEntitiesInfo"
_HEADER = 4
_GUID = 16
# Up to Humble a guid had eight more bytes, always zero.
_OLD_GUID = 24
# The first guid, of the participant, and no nodes: nothing is shorter.
_SHORTEST = _HEADER + _GUID + 4


def participant_of(data: bytes) -> bytes:
    """The guid of the participant that an announcement is of."""
    return data[_HEADER : _HEADER + _GUID]


def encode(participant: bytes, nodes: list[GraphNode]) -> bytes:
    """The announcement of a participant, as ROS 2 makes it since Iron."""
    data = bytearray(cdr.HEADER + participant + struct.pack("<I", len(nodes)))
    for node in nodes:
        for text in (node.namespace, node.name):
            encoded = text.encode() + b"\x00"
            data += bytes(-len(data) & 3) + struct.pack("<I", len(encoded)) + encoded
        for guids in (node.readers, node.writers):
            data += bytes(-len(data) & 3) + struct.pack("<I", len(guids)) + b"".join(list(guids))
    return bytes(data)


def decode(data: bytes) -> list[GraphNode]:
    """The nodes of a participant, from an announcement of any ROS 2.

    Raises DeserializationError for what is none.
    """
    try:
        return _Announcement(data).nodes()
    except (struct.error, UnicodeDecodeError) as error:
        raise cdr.DeserializationError(f"{len(data)} bytes are not a {TYPE}: {error}") from error


class _Announcement:
    def __init__(self, data: bytes) -> None:
        self._data = data
        # With guids of the new size, no nodes would be followed by nothing.
        is_old = len(data) > _SHORTEST and not any(data[_HEADER + _GUID : _HEADER + _OLD_GUID])
        self._guid = _OLD_GUID if is_old else _GUID
        self._at = _HEADER + self._guid
        self._count = struct.Struct("<I" if data[1] & 1 else ">I")

    def nodes(self) -> list[GraphNode]:
        found = []
        for _ in range(self._number()):
            namespace, name = self._text(), self._text()
            readers, writers = self._guids(), self._guids()
            found.append(GraphNode(name, namespace, readers=readers, writers=writers))
        return found

    def _number(self) -> int:
        self._at += -self._at & 3
        (number,) = self._count.unpack_from(self._data, self._at)
        self._at += 4
        return int(number)

    def _bytes(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise struct.error(f"the fields end at byte {end}")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _text(self) -> str:
        return self._bytes(self._number())[:-1].decode()

    def _guids(self) -> set[bytes]:
        data = self._bytes(self._number() * self._guid)
        return {data[i : i + _GUID] for i in range(0, len(data), self._guid)}


_COALESCE_SECONDS = 0.01
# And the share of time that announcing may take while endpoints are being made: each time all are announced.
_ANNOUNCING = 0.05
# What others announce is taken this often where nobody asks for it: unread it would pile up.
_TIDY_SECONDS = 2.0
_ENCLAVE = "enclave="


class Graph:
    """The nodes and endpoints of the domain. Safe from any thread."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant
        self._lock = RLock()
        self._nodes: list[GraphNode] = []
        self._remote: dict[bytes, list[GraphNode]] = {}
        self._undecoded: dict[bytes, bytes] = {}
        self._discovery = Discovery(participant)
        self._ids = 0
        data = f"typehash={type_hash(TYPE)};".encode()
        ends = TOPIC, dds_type_name(TYPE)
        announced = dds.EndpointQos(durability=dds.TRANSIENT_LOCAL, depth=1)
        everything = dds.EndpointQos(durability=dds.TRANSIENT_LOCAL, history=dds.KEEP_ALL, depth=0)
        self._writer = participant.create_writer(*ends, announced, data)
        self._reader = participant.create_reader(*ends, everything, data)
        self._changed, self._closed = Event(), Event()
        self._thread = Thread(target=self._publish_changes, name="ros_discovery_info", daemon=True)
        self._thread.start()

    def next_service_number(self) -> int:
        """A number for a service or client that no other of this participant has."""
        with self._lock:
            self._ids += 1
            return self._ids

    def add_node(self, node: GraphNode) -> None:
        """Announce a node of this participant."""
        with self._lock:
            self._nodes.append(node)
        self._changed.set()

    def remove_node(self, node: GraphNode) -> None:
        """Take a node back."""
        with self._lock:
            if node in self._nodes:
                self._nodes.remove(node)
        self._changed.set()

    def changed(self) -> None:
        """The endpoints of an announced node changed."""
        self._changed.set()

    def close(self) -> None:
        """Stop announcing."""
        self._closed.set()
        self._changed.set()
        self._thread.join()

    def nodes(self) -> list[GraphNode]:
        """Every node of the domain, this participant's first."""
        with self._lock:
            self._take_remote()
            self._decode_remote()
            alive = self._discovery.participants()
            self._remote = {guid: nodes for guid, nodes in self._remote.items() if guid in alive}
            for guid, nodes in self._remote.items():
                for node in nodes:
                    node.enclave = _enclave(alive[guid])
            own = self._participant.guid
            return [*self._nodes, *(n for guid, nodes in self._remote.items() if guid != own for n in nodes)]

    def writers(self) -> list[Endpoint]:
        """Every writer of the domain."""
        return self._discovery.writers()

    def readers(self) -> list[Endpoint]:
        """Every reader of the domain."""
        return self._discovery.readers()

    def count_writers(self, topic: str) -> int:
        """How many writers a topic of DDS has."""
        return self._discovery.count_writers(topic)

    def count_readers(self, topic: str) -> int:
        """How many readers a topic of DDS has."""
        return self._discovery.count_readers(topic)

    def _tidy(self) -> None:
        """Keep of what others announced only the latest of those who are there."""
        with self._lock:
            if self._take_remote():
                alive = self._discovery.participants()
                self._undecoded = {guid: data for guid, data in self._undecoded.items() if guid in alive}
                self._remote = {guid: nodes for guid, nodes in self._remote.items() if guid in alive}
        self._discovery.forget_departed()

    def _take_remote(self) -> bool:
        """Take announcements, but do not decode what most programs never need; whether there were any."""
        found = False
        while (sample := self._reader.take()) is not None:
            found = True
            self._undecoded[participant_of(sample[0])] = sample[0]
        return found

    def _decode_remote(self) -> None:
        undecoded, self._undecoded = self._undecoded, {}
        for participant, sample in undecoded.items():
            try:
                self._remote[participant] = decode(sample)
            except cdr.DeserializationError:
                continue  # a participant of another kind; it has no nodes for us

    def _publish_changes(self) -> None:
        taken = 0.0
        while not self._closed.is_set():
            if not self._changed.wait(_TIDY_SECONDS):
                self._tidy()
                taken = 0.0
                continue
            if self._closed.wait(max(_COALESCE_SECONDS, taken / _ANNOUNCING)):
                return
            self._changed.clear()
            begin = time.thread_time()
            with self._lock:
                data = encode(self._participant.guid, self._nodes)
            if not self._closed.is_set():
                self._writer.write(data)
            taken = time.thread_time() - begin


def _enclave(user_data: bytes) -> str:
    for part in user_data.decode("utf-8", "replace").split(";"):
        if part.startswith(_ENCLAVE):
            return part.removeprefix(_ENCLAVE)
    return ""
