"""A ring of memory that two processes share: one puts records in, the other takes them out, in order.

Positions count all bytes ever put in, so that the one who puts and the one who takes need to tell each other one
number. Numbers go through a socket, which makes what was written before them visible to the other process on every
kind of processor. The number in the memory itself is for the end: it tells how far a process came that was killed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

ALIGNMENT = 64
"""Records begin at multiples of it: arrays in them are aligned for any number."""
_POSITION = struct.Struct("<q")
_RECORD = struct.Struct("<qqq")
"""Length with this head and padding; kind; length of the content."""
_FILLER = -1


class RingGiver:
    """Puts records in. Each is in one piece; `size` is that of the ring, without the memory it needs for itself."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self.size = (len(memory) - ALIGNMENT) // ALIGNMENT * ALIGNMENT
        self.head = 0
        """Up to where records are whole."""
        self.tail = 0
        """Up to where they were taken, as far as is known here."""
        # Of the record that was placed last.
        self._begin = self._kind = self._skipped = self._end = 0

    @property
    def longest(self) -> int:
        """The length of records that always fit into half of it, wherever they begin."""
        return self.size // 8

    @property
    def is_half_full(self) -> bool:
        """Whether more than half of it waits to be taken."""
        return self.head - self.tail > self.size // 2

    def place(self, kind: int, length: int) -> memoryview | None:
        """Return where a record of a kind goes that is `length` long; None while there is no room for it."""
        whole = _whole(length)
        place = self.head % self.size
        skipped = self.size - place if place + whole > self.size else 0
        if self.head + skipped + whole - self.tail > self.size:
            return None
        if skipped:
            _RECORD.pack_into(self._memory, ALIGNMENT + place, skipped, _FILLER, 0)
            place = 0
        begin = ALIGNMENT + place
        _RECORD.pack_into(self._memory, begin, whole, kind, length)
        self._begin, self._kind, self._skipped = begin, kind, skipped
        self._end = self.head + skipped + whole
        return self._memory[begin + ALIGNMENT : begin + ALIGNMENT + length]

    def shorten(self, length: int) -> None:
        """Have the record that was placed last be only `length` long."""
        whole = _whole(length)
        _RECORD.pack_into(self._memory, self._begin, whole, self._kind, length)
        self._end = self.head + self._skipped + whole

    def commit(self) -> None:
        """Call the record whole for which `place` has returned a place."""
        self.head = self._end
        _POSITION.pack_into(self._memory, 0, self.head)


class RingTaker:
    """Takes records out."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self._size = (len(memory) - ALIGNMENT) // ALIGNMENT * ALIGNMENT
        self.tail = 0
        """Up to where records were taken."""

    @property
    def last_head(self) -> int:
        """Up to where records are whole; surely so where the other process has ended, or has long not written."""
        position: int = _POSITION.unpack_from(self._memory, 0)[0]
        return position

    def leaves_half(self, head: int) -> bool:
        """Return whether at least half of the ring is free, with records up to the position `head`."""
        return head - self.tail <= self._size // 2

    def take(self, head: int) -> Iterator[tuple[int, bytes]]:
        """Yield kind and content of the records up to the position `head`, as copies."""
        while self.tail < head:
            begin = ALIGNMENT + self.tail % self._size
            whole, kind, length = _RECORD.unpack_from(self._memory, begin)
            content = bytes(self._memory[begin + ALIGNMENT : begin + ALIGNMENT + length]) if kind != _FILLER else b""
            # Before it is used: who takes part of a record and stops does not get it twice.
            self.tail += whole
            if kind != _FILLER:
                yield kind, content


def _whole(length: int) -> int:
    """Return the length of a record with its head and padding, for a content of `length`."""
    return ALIGNMENT + length + -length % ALIGNMENT
