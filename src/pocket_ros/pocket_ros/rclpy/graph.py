"""What this participant tells the domain of its nodes, and what it knows of everybody's.

`ros_discovery_info` ties endpoints to nodes. It is published shortly after changes, many changes at once: a
node with
thousands of endpoints would otherwise send their list thousands of times.
"""

from __future__ import annotations

import struct
from threading import Event, RLock, Thread
from typing import Any

from ..dds import qos as dds
from ..dds.discovery import Discovery, Endpoint
from ..dds.participant import Participant
from ..interfaces import cdr
from ..interfaces.classes import message_class
from ..interfaces.hashing import type_hash
from .graph_node import GraphNode
from .type_support import dds_type_name

TOPIC = "ros_discovery_info"
_TYPE = "rmw_dds_common/msg/ParticipantEntitiesInfo"
_COALESCE_SECONDS = 0.01
# What others announce is taken this often where nobody asks for it: unread it would pile up.
_TIDY_SECONDS = 2.0
# The guid of the participant, behind the header of CDR.
_GUID = slice(4, 20)
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
        data = f"typehash={type_hash(_TYPE)};".encode()
        announced = dds.EndpointQos(durability=dds.TRANSIENT_LOCAL, depth=1)
        everything = dds.EndpointQos(durability=dds.TRANSIENT_LOCAL, history=dds.KEEP_ALL, depth=0)
        self._writer = participant.create_writer(TOPIC, dds_type_name(_TYPE), announced, data)
        self._reader = participant.create_reader(TOPIC, dds_type_name(_TYPE), everything, data)
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
            self._undecoded[sample[0][_GUID]] = sample[0]
        return found

    def _decode_remote(self) -> None:
        info = message_class(_TYPE)
        undecoded, self._undecoded = self._undecoded, {}
        for sample in undecoded.values():
            try:
                message: Any = cdr.deserialize(sample, info)
            except cdr.DeserializationError:
                continue  # a participant of another kind; it has no nodes for us
            self._remote[message.gid.data.tobytes()] = [
                GraphNode(
                    n.node_name,
                    n.node_namespace,
                    readers={g.data.tobytes() for g in n.reader_gid_seq},
                    writers={g.data.tobytes() for g in n.writer_gid_seq},
                )
                for n in message.node_entities_info_seq
            ]

    def _publish_changes(self) -> None:
        while not self._closed.is_set():
            if not self._changed.wait(_TIDY_SECONDS):
                self._tidy()
                continue
            if self._closed.wait(_COALESCE_SECONDS):
                return
            self._changed.clear()
            with self._lock:
                data = _encode(self._participant.guid, self._nodes)
            if not self._closed.is_set():
                self._writer.write(data)


def _encode(participant: bytes, nodes: list[GraphNode]) -> bytes:
    """ParticipantEntitiesInfo as CDR, without an object per guid."""
    data = bytearray(cdr.HEADER + participant + struct.pack("<I", len(nodes)))
    for node in nodes:
        for text in (node.namespace, node.name):
            encoded = text.encode() + b"\x00"
            data += bytes(-len(data) & 3) + struct.pack("<I", len(encoded)) + encoded
        for guids in (node.readers, node.writers):
            data += bytes(-len(data) & 3) + struct.pack("<I", len(guids)) + b"".join(list(guids))
    return bytes(data)


def _enclave(user_data: bytes) -> str:
    for part in user_data.decode("utf-8", "replace").split(";"):
        if part.startswith(_ENCLAVE):
            return part.removeprefix(_ENCLAVE)
    return ""
