"""action_msgs/msg/GoalStatusArray as bytes: published at each change of any goal, so one must be cheap.

An element is an id of 16 bytes, seconds, nanoseconds and a status. Seconds are aligned to 4 bytes: 3 bytes of
padding come after each id but the first, which happens to end where the seconds may begin.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER = struct.Struct("<4sI")
_LITTLE_ENDIAN = b"\x00\x01\x00\x00"
_ELEMENT = struct.Struct("<16s3xiIb")
_PADDING = slice(16, 19)
_STATUS_AT = 27


class StatusBook:
    """The states of the goals of a server, in the order they were accepted."""

    def __init__(self) -> None:
        self._elements = bytearray()
        self._places: dict[bytes, int] = {}

    def add(self, key: bytes, sec: int, nanosec: int, status: int) -> None:
        """Begin with a goal by its id, accepted at a time."""
        self._places[key] = len(self._elements)
        self._elements += _ELEMENT.pack(key, sec, nanosec, status)

    def change(self, key: bytes, status: int) -> None:
        """Change the state of a goal; nothing where it is not known."""
        place = self._places.get(key)
        if place is not None:
            struct.pack_into("<b", self._elements, place + _STATUS_AT, status)

    def discard(self, keys: set[bytes]) -> None:
        """Forget goals."""
        places = [at for key, at in self._places.items() if key not in keys]
        kept = [bytes(self._elements[at : at + _ELEMENT.size]) for at in places]
        self._elements = bytearray(b"".join(kept))
        self._places = {element[:16]: index * _ELEMENT.size for index, element in enumerate(kept)}

    def cdr(self) -> bytes:
        """Return the message."""
        data = bytearray(_HEADER.pack(_LITTLE_ENDIAN, len(self._places)))
        data += self._elements[: _PADDING.start]
        data += self._elements[_PADDING.stop :]
        return bytes(data)


def statuses(data: bytes) -> Iterator[tuple[bytes, int]] | None:
    """Return (id, status) of each goal in a message, or None where it is not little-endian or too short."""
    if len(data) < _HEADER.size or data[:2] != _LITTLE_ENDIAN[:2]:
        return None
    count = _HEADER.unpack_from(data)[1]
    first, stride = _HEADER.size, _ELEMENT.size
    padding = _PADDING.stop - _PADDING.start
    end = first + count * stride - padding
    if count == 0:
        return iter(())
    if len(data) < end:
        return None
    starts = (max(at, first) for at in range(first - padding, end, stride))
    keys = (data[at : at + 16] for at in starts)
    states = data[first - padding + _STATUS_AT : end : stride]
    return zip(keys, struct.unpack(f"{count}b", states), strict=True)
