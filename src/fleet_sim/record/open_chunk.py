"""OpenChunk: the messages of one chunk of an MCAP file, until it is compressed."""

from __future__ import annotations

import struct
from array import array
from time import perf_counter
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import AnyArray, Ints

MESSAGE, MESSAGE_INDEX = 0x05, 0x07
_MESSAGE = struct.Struct("<BQHIQQ")
"""Kind and length of the record, channel, sequence number, and two times of the message: logged and published."""
_MESSAGE_FIELDS = _MESSAGE.size - 9
"""Of the head of a message, what counts as its content: all after the kind and the length."""
_CHANNEL_AT = slice(9, 11)
_INDEX = struct.Struct("<BQHI")


class ChunkIndex(NamedTuple):
    """Where the messages of a chunk are: `content` as in the file, and by channel where it begins, and its messages."""

    content: bytes
    offsets: dict[int, int]
    counts: dict[int, int]


class OpenChunk:
    """Messages side by side in memory, as they are in the file before it is compressed."""

    def __init__(self, length: int) -> None:
        # A view: bytearrays make a copy of their own of what is written to a slice of them.
        self.memory = memoryview(bytearray(length))
        self.used = 0
        self.filling_time = 0.0
        """In s of real time, from the beginning to `end_filling`."""
        self._since = perf_counter()
        # Channel, time and place of each message, one after the other.
        self._entries = array("q")

    def clear(self) -> None:
        """Begin anew, in the same memory."""
        self.used, self._since = 0, perf_counter()
        del self._entries[:]

    def end_filling(self) -> None:
        """Note how long it took to fill it."""
        self.filling_time = perf_counter() - self._since

    @property
    def has_messages(self) -> bool:
        """Whether there is one, besides records of types and channels."""
        return bool(self._entries)

    @property
    def times(self) -> tuple[int, int]:
        """The first and the last time of its messages, in ns."""
        times = self._table()[:, 1]
        return int(times.min()), int(times.max())

    @property
    def content(self) -> memoryview:
        """All that was added, not copied."""
        return self.memory[: self.used]

    def has_room(self, length: int) -> bool:
        """Return whether there is room for `length` bytes more."""
        return self.used + length <= len(self.memory)

    def grow(self, length: int) -> None:
        """Make room for `length` bytes more, however many they are."""
        larger = memoryview(bytearray(self.used + length))
        larger[: self.used] = self.content
        self.memory = larger

    def add_record(self, content: bytes) -> None:
        """Add a record as it is; there must be room for it."""
        end = self.used + len(content)
        self.memory[self.used : end] = content
        self.used = end

    def add_message(self, channel: int, now: int, data: bytes | memoryview) -> None:
        """Add a message of the time `now` in ns; there must be room for `message_size` of its length."""
        length, place, memory = len(data), self.used, self.memory
        body = place + _MESSAGE.size
        self.used = end = body + length
        _MESSAGE.pack_into(memory, place, MESSAGE, _MESSAGE_FIELDS + length, channel, 0, now, now)
        memory[body:end] = data
        self._entries.extend((channel, now, place))

    def add_messages(self, channels: Ints, now: int, data: AnyArray) -> int:
        """Add messages of equal length, one for each of `channels` (K,), with the bytes `data` (K, L).

        Returns how many of them had room, which are the first ones.
        """
        size = message_size(data.shape[1])
        count = min(len(channels), (len(self.memory) - self.used) // size)
        channels, places = channels[:count], self.used + size * np.arange(count)
        self.used += size * count
        rows = np.frombuffer(self.memory, np.uint8, size * count, self.used - size * count).reshape(count, size)
        head = _MESSAGE.pack(MESSAGE, size - 9, 0, 0, now, now)
        rows[:, : _MESSAGE.size] = np.frombuffer(head, np.uint8)
        rows[:, _CHANNEL_AT] = channels.astype("<u2").view(np.uint8).reshape(count, 2)
        rows[:, _MESSAGE.size :] = data[:count]
        self._entries.frombytes(np.stack([channels, np.full(count, now), places], axis=1).tobytes())
        return count

    def index(self, start: int) -> ChunkIndex:
        """Return where the messages are, as records that will begin at `start` in the file."""
        table = self._table()
        # Those of one channel stay in the order in which they were added.
        table = table[np.argsort(table[:, 0], kind="stable")]
        channels, begins, counts = np.unique(table[:, 0], return_index=True, return_counts=True)
        content, offsets, end = list[bytes](), dict[int, int](), start
        data = np.ascontiguousarray(table[:, 1:], "<u8").tobytes()
        for channel, begin, count in zip(channels.tolist(), begins.tolist(), counts.tolist(), strict=True):
            size = 16 * count
            offsets[channel] = end
            content += (
                _INDEX.pack(MESSAGE_INDEX, _INDEX.size - 9 + size, channel, size),
                data[16 * begin : 16 * begin + size],
            )
            end += _INDEX.size + size
        return ChunkIndex(b"".join(content), offsets, dict(zip(channels.tolist(), counts.tolist(), strict=True)))

    def _table(self) -> Ints:
        """Return channel, time and place of all messages (K, 3)."""
        # A copy: arrays cannot grow while somebody looks into them.
        return np.array(self._entries, np.int64).reshape(-1, 3)


def message_size(length: int) -> int:
    """Return how many bytes a message of `length` takes in a chunk."""
    return _MESSAGE.size + length
