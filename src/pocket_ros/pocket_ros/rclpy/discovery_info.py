"""`ros_discovery_info`: which endpoints belong to which node, as participants tell one another."""

from __future__ import annotations

import struct

from ..interfaces import cdr
from .graph_node import GraphNode

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
