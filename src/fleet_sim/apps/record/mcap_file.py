"""McapFile: a recording while it is written, beside its name, in chunks that are whole at any moment."""

from __future__ import annotations

import contextlib
import math
import struct
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from fleet_sim.apps.record.message_types import check_installed, definition
from fleet_sim.base.arrays import AnyArray, Ints
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import check_target, exists, opened, part_beside, put_in_place, refusals, remove

if TYPE_CHECKING:
    from mcap.records import McapRecord
    from zstandard import ZstdCompressor


# ChunkCompressor: compresses chunks the better, the more time there is.


_FAST = 2
"""A level of zstd: half the time of its own default, 3, and nothing larger, as messages repeat those before them."""
_BETTER = {"strategy": 2, "hash_log": 17, "chain_log": 17, "search_log": 1, "min_match": 6, "window_log": 21}
"""A tenth smaller where robots drive along new paths all the time."""
_BEST = {"strategy": 3, "hash_log": 18, "chain_log": 17, "search_log": 4, "min_match": 7, "window_log": 21}
"""A fifth smaller there: as level 7 of zstd, in two thirds of its time. It looks at 16 places for what repeats, which
are seven bytes or more in messages of robots."""
BETTER_SHARE, BEST_SHARE = 0.5, 0.25
"""Of the time in which a chunk was filled, what compressing it so may take of a processor: the run may need both of a
small machine."""
_WORTH = 0.95
"""How small it must become, compared to compressing it fast: where robots drive as they did, little is gained."""
_LATER = 8
"""Chunks until that is looked at again."""


class _Slower:
    """A way to compress better, in a time that is `times_longer`, and whether that is worth it."""

    def __init__(self, compressor: ZstdCompressor, times_longer: float, share: float) -> None:
        self.factor = times_longer / share
        """Of the time that compressing fast takes, to that in which a chunk must at least be filled."""
        self._compressor = compressor
        self._pays, self._until_tried = False, 0

    def compress(self, raw: memoryview, fast: Callable[[memoryview], bytes]) -> bytes:
        """Return `raw` compressed, by `fast` where the last chunk that was compressed by both got hardly smaller."""
        if self._until_tried:
            self._until_tried -= 1
            return self._compressor.compress(raw) if self._pays else fast(raw)
        # Both, as chunks differ: the first ones have lists of all entities.
        contents = fast(raw), self._compressor.compress(raw)
        self._pays, self._until_tried = len(contents[1]) < _WORTH * len(contents[0]), _LATER
        return min(contents, key=len)


class ChunkCompressor:
    """Compresses with zstd and its checksum; for one thread. Releases the interpreter meanwhile.

    A run at hundreds of times real time fills a chunk in hundredths of a second, which is then compressed fast. A run
    with traffic, or in real time, leaves time to compress better, where that is worth it. Raises
    MissingDependencyError without the extra `record`.
    """

    def __init__(self) -> None:
        with of_extra("zstandard", "record", "a recording"):
            from zstandard import ZstdCompressionParameters, ZstdCompressor
        # With the checksum of zstd, which takes a third of the time of the one that MCAP has.
        self._fast = ZstdCompressor(_FAST, write_checksum=True)
        better, best = (
            ZstdCompressor(compression_params=ZstdCompressionParameters(**numbers, write_checksum=True))
            for numbers in (_BETTER, _BEST)
        )
        # The best first.
        self._slower = (_Slower(best, 4.0, BEST_SHARE), _Slower(better, 1.5, BETTER_SHARE))
        # In s of processor time for a byte, of the last chunk that was compressed fast.
        self._pace = math.inf

    def compress(self, raw: memoryview, time: float) -> bytes:
        """Return the content `raw` of a chunk compressed, given the `time` in s of real time that filling it took."""
        for way in self._slower:
            if self._pace * len(raw) * way.factor <= time:
                return way.compress(raw, self._compressed_fast)
        return self._compressed_fast(raw)

    def _compressed_fast(self, raw: memoryview) -> bytes:
        begin = thread_time()
        content = self._fast.compress(raw)
        self._pace = (thread_time() - begin) / max(len(raw), 1)
        return content


# OpenChunk: the messages of one chunk of an MCAP file, until it is compressed.


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


# McapChunks: the records of an MCAP file, with messages in chunks that another thread compresses.


MAGIC = b"\x89MCAP0\r\n"
CHUNK = 16_000_000
"""Bytes before compression that a chunk has at most, unless a single message is longer: an eighth less to write than in
chunks of 1 MB, as more repeats, and each has an index with all its topics. Who flushes says how old one may be."""
UNDER_WAY = 2
"""Chunks that wait to be compressed or written; with more, who adds messages waits."""
MOST_CHANNELS = 65_535
_COMPRESSION = b"zstd"
_NO_CHECKSUM = 0
_CHUNK = struct.Struct(f"<BQQQQII{len(_COMPRESSION)}sQ")
CHUNK_KIND, FOOTER = 0x06, 0x02


class McapChunks:
    """Writes the records of an MCAP file to `stream`, in the order in which they are added.

    Messages are whole in the file when `flush` has returned. For one thread; raises what the stream raises,
    InvalidValueError for more than MOST_CHANNELS channels, and MissingDependencyError without the extra `record`.
    """

    def __init__(self, stream: BinaryIO, profile: str, library: str) -> None:
        with of_extra("mcap", "record", "a recording"):
            from mcap import records
        self._records, self._stream = records, stream
        # One thread: a compressor is for one, and what it waits for is given up to here by one, too.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="compress chunks")
        self._compressor = ChunkCompressor()
        self._under_way = deque[tuple[OpenChunk, Future[None]]]()
        # Used again: memory that is new costs as much as what is done in it.
        self._free = list[OpenChunk]()
        self._chunk = OpenChunk(CHUNK)
        # Whether a chunk was begun in the file and not ended.
        self._broken = False
        self._schemas: list[McapRecord] = []
        self._channels: list[McapRecord] = []
        self._chunk_indexes: list[McapRecord] = []
        self._attachments: list[McapRecord] = []
        self._metadata: list[McapRecord] = []
        self._counts: dict[int, int] = {}
        self._first, self._last = 0, 0
        self.whole = 0
        """Up to where the file is whole, in bytes: what follows belongs to something that is being written."""
        self._checksum = 0
        self._put(MAGIC + _bytes_of(records.Header(profile, library)))

    def _put(self, content: bytes | memoryview) -> None:
        """Write some of what comes before the summary, which has a checksum as a whole."""
        self._stream.write(content)
        self._checksum = zlib.crc32(content, self._checksum)

    # ---- in chunks ---------------------------------------------------------------------------------------------------

    def add_schema(self, name: str, encoding: str, text: bytes) -> int:
        """Return the number of a new type of messages."""
        number = len(self._schemas) + 1
        self._schemas.append(self._records.Schema(id=number, data=text, encoding=encoding, name=name))
        self._add_record(self._schemas[-1])
        return number

    def add_channel(self, topic: str, encoding: str, schema: int, about: Mapping[str, str]) -> int:
        """Return the number of a new channel."""
        number = len(self._channels) + 1
        if number > MOST_CHANNELS:
            raise InvalidValueError(f"more than {MOST_CHANNELS} topics, which an MCAP file cannot have: {topic}")
        self._channels.append(
            self._records.Channel(
                id=number, topic=topic, message_encoding=encoding, schema_id=schema, metadata=dict(about)
            )
        )
        self._add_record(self._channels[-1])
        return number

    def _add_record(self, record: McapRecord) -> None:
        content = _bytes_of(record)
        self._with_room(len(content)).add_record(content)

    def add_message(self, channel: int, now: int, data: bytes | memoryview) -> None:
        """Add a message of the time `now` in ns; `data` is copied."""
        self._with_room(message_size(len(data))).add_message(channel, now, data)

    def add_messages(self, channels: Ints, now: int, data: AnyArray) -> None:
        """Add messages of equal length, one for each of `channels` (K,), with the bytes `data` (K, L), copied."""
        size, begin = message_size(data.shape[1]), 0
        while begin < len(channels):
            begin += self._with_room(size).add_messages(channels[begin:], now, data[begin:])

    def _with_room(self, length: int) -> OpenChunk:
        """Return the chunk, a new one if there is no room for `length` bytes in this one."""
        chunk = self._chunk
        if chunk.has_room(length):
            return chunk
        if chunk.has_messages:
            self._end_chunk()
            chunk = self._chunk
        if not chunk.has_room(length):
            chunk.grow(length)
        return chunk

    def _end_chunk(self) -> None:
        """Hand the chunk to the pool, and go on in a free one; waits where too many are under way."""
        chunk = self._chunk
        if not chunk.has_messages:
            return
        # Without what it waits for below, which is compressing.
        chunk.end_filling()
        while len(self._under_way) >= UNDER_WAY:
            self._await_oldest()
        self._under_way.append((chunk, self._pool.submit(self._write_chunk, chunk)))
        while self._under_way[0][1].done() and len(self._under_way) > 1:
            self._await_oldest()
        if self._free:
            self._chunk = self._free.pop()
            self._chunk.clear()
        else:
            self._chunk = OpenChunk(CHUNK)

    def _await_oldest(self) -> None:
        """Wait until the oldest chunk under way is in the file; raises what writing it raised."""
        chunk, written = self._under_way.popleft()
        written.result()
        if len(chunk.memory) == CHUNK:
            self._free.append(chunk)

    def _write_chunk(self, chunk: OpenChunk) -> None:
        """Compress a chunk and write it, in the thread of the pool: nobody else writes while chunks are under way."""
        # What comes behind half a chunk could not be found again; the error of that one is raised first.
        if self._broken:
            return
        self._broken = True
        # All of this leaves the interpreter to the thread that makes messages meanwhile.
        content = self._compressor.compress(chunk.content, chunk.filling_time)
        begin, end = chunk.times
        start = self._stream.tell()
        length = _CHUNK.size - 9 + len(content)
        self._put(
            _CHUNK.pack(
                *(CHUNK_KIND, length, begin, end, chunk.used, _NO_CHECKSUM),
                *(len(_COMPRESSION), _COMPRESSION, len(content)),
            )
        )
        self._put(content)
        index = chunk.index(self._stream.tell())
        self._put(index.content)
        self._count(index.counts, begin, end)
        self._chunk_indexes.append(
            self._records.ChunkIndex(
                chunk_start_offset=start,
                chunk_length=9 + length,
                message_start_time=begin,
                message_end_time=end,
                message_index_offsets=index.offsets,
                message_index_length=len(index.content),
                compression=_COMPRESSION.decode(),
                compressed_size=len(content),
                uncompressed_size=chunk.used,
            )
        )
        # Out of this process at once, so that its end takes no chunk with it.
        self._stream.flush()
        self.whole = self._stream.tell()
        self._broken = False

    def _count(self, counts: Mapping[int, int], begin: int, end: int) -> None:
        """Add the messages of a chunk, by channel and from `begin` to `end` in ns, to those of the file."""
        for channel, count in counts.items():
            self._counts[channel] = self._counts.get(channel, 0) + count
        self._first = min(self._first, begin) if self._chunk_indexes else begin
        self._last = max(self._last, end)

    # ---- beside chunks -----------------------------------------------------------------------------------------------

    def add_attachment(self, name: str, media_type: str, data: bytes) -> None:
        """Add a whole file."""
        record = self._records.Attachment(create_time=0, log_time=0, name=name, media_type=media_type, data=data)
        offset, length = self._write(record)
        self._attachments.append(self._records.AttachmentIndex(*(offset, length, 0, 0, len(data), name, media_type)))

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Add texts about the file."""
        offset, length = self._write(self._records.Metadata(name=name, metadata=dict(values)))
        self._metadata.append(self._records.MetadataIndex(offset=offset, length=length, name=name))

    def _write(self, record: McapRecord) -> tuple[int, int]:
        while self._under_way:
            self._await_oldest()
        offset, content = self._stream.tell(), _bytes_of(record)
        self._put(content)
        return offset, len(content)

    def flush(self) -> None:
        """Have everything added so far in the file."""
        self._end_chunk()
        while self._under_way:
            self._await_oldest()
        self._stream.flush()
        self.whole = self._stream.tell()

    def finish(self) -> None:
        """Write the rest and the index; the stream stays open."""
        self.flush()
        self.close()
        self._stream.write(_bytes_of(self._records.DataEnd(self._checksum)))
        start, summary, groups = self._stream.tell(), BytesIO(), BytesIO()
        for records in self._summary():
            if records:
                group_start = start + summary.tell()
                content = b"".join(map(_bytes_of, records))
                summary.write(content)
                groups.write(_bytes_of(self._records.SummaryOffset(content[0], group_start, len(content))))
        offsets_start = start + summary.tell()
        content = summary.getvalue() + groups.getvalue()
        footer = struct.pack("<BQQQ", FOOTER, 20, start, offsets_start)
        checksum = struct.pack("<I", zlib.crc32(footer, zlib.crc32(content)))
        self._stream.write(content + footer + checksum + MAGIC)

    def _summary(self) -> Sequence[Sequence[McapRecord]]:
        """Return the records that are read first, group by group."""
        statistics = self._records.Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunk_indexes),
            message_count=sum(self._counts.values()),
            message_start_time=self._first,
            message_end_time=self._last,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )
        return (
            *(self._schemas, self._channels, [statistics]),
            *(self._chunk_indexes, self._attachments, self._metadata),
        )

    def close(self) -> None:
        """Compress no more; what was not flushed is lost."""
        self._pool.shutdown(cancel_futures=True)


def _bytes_of(record: McapRecord) -> bytes:
    from mcap.data_stream import RecordBuilder

    builder = RecordBuilder()
    record.write(builder)
    content: bytes = builder.end()  # type: ignore[no-untyped-call]
    return content


PROFILE = "ros2"


@dataclass(frozen=True)
class Qos:
    """The quality of service that a topic is played back with."""

    depth: int = 10
    latched: bool = False
    """Whether who subscribes later gets the last message at once."""

    def as_yaml(self) -> str:
        """Return it as recordings of rosbag2 have it, in the metadata `offered_qos_profiles` of a channel."""
        lines = (
            "- history: keep_last",
            f"  depth: {self.depth}",
            "  reliability: reliable",
            f"  durability: {'transient_local' if self.latched else 'volatile'}",
            *(f"  {name}: {{sec: 9223372036, nsec: 854775807}}" for name in ("deadline", "lifespan")),
            "  liveliness: automatic",
            "  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}",
            "  avoid_ros_namespace_conventions: false",
        )
        return "\n".join(lines) + "\n"


@cache
def _about(qos: Qos) -> Mapping[str, str]:
    """Return the metadata of channels of a quality of service."""
    return {"offered_qos_profiles": qos.as_yaml()}


STATE, LATCHED = Qos(), Qos(depth=1, latched=True)


def open_part(path: str | Path, part: Path | None = None) -> BinaryIO:
    """Return the file, open and empty, that is written until `path` is whole.

    Raises InvalidValueError where it is there or cannot be made.
    """
    path, part = Path(path), part or part_beside(path)
    check_target(path)
    if exists(part):
        raise InvalidValueError(
            f"{part} is there: another recording is at work, or a run was killed. What it has so far can be "
            f"read: make it whole with `fleet-sim replay {part} --repair {path}`, or remove it"
        )
    with refusals(path):
        # Never one that is there: it may be all that is left of a run that was killed, or another's at work.
        return opened(part, "xb")


class McapFile:
    """An MCAP file of ROS 2 messages. It has its name from `finish` on; until then it is beside it, ending in `.part`.

    After `flush`, whatever was written survives the end of the process. For one thread. Raises InvalidValueError where
    the system refuses to write, MissingDependencyError without the extra `record`.
    """

    def __init__(self, path: str | Path, *, part: Path | None = None, stream: BinaryIO | None = None) -> None:
        """Begin the file.

        `part` is another name for what is written until `finish`, `stream` what `open_part` has returned for it.
        """
        check_installed()
        self.path, self.part = Path(path), part or part_beside(path)
        self._stream = stream or open_part(path, self.part)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        with refusals(path):
            self._records = McapChunks(self._stream, PROFILE, "fleet_sim")

    def channel(self, topic: str, kind: str, qos: Qos) -> int:
        """Return the number of the channel of `topic`, made at the first call."""
        known = self._channels.get(topic)
        if known is not None:
            return known
        return self.copied_channel(topic, kind, definition(kind).encode(), _about(qos))

    def copied_channel(self, topic: str, kind: str, text: bytes, about: Mapping[str, str]) -> int:
        """Return the number of the channel of `topic`, as it is in another file; `text` describes its type."""
        if topic not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._records.add_schema(kind, "ros2msg", text)
            self._channels[topic] = self._records.add_channel(topic, "cdr", self._schemas[kind], about)
        return self._channels[topic]

    def write(self, channel: int, now: int, data: bytes | memoryview) -> None:
        """Add a message of the time `now` in ns; raises InvalidValueError where a full chunk cannot be written."""
        try:
            self._records.add_message(channel, now, data)
        except OSError as error:
            # Not `refusals`, which costs as much as the message does.
            raise InvalidValueError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def write_all(self, channels: Ints, now: int, data: AnyArray) -> None:
        """Add messages of equal length, one for each of `channels` (K,), with the bytes `data` (K, L)."""
        with refusals(self.path):
            self._records.add_messages(channels, now, data)

    def describe(self, name: str, values: Mapping[str, str]) -> None:
        """Add texts about the recording."""
        with refusals(self.path):
            self._records.add_metadata(name, values)

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Add a whole file."""
        with refusals(self.path):
            self._records.add_attachment(name, media_type, data)

    def flush(self) -> None:
        """Write what was added since the last call as a chunk."""
        with refusals(self.path):
            self._records.flush()

    def finish(self) -> None:
        """Write the index and give the file its name."""
        with refusals(self.path):
            self._records.finish()
            self._stream.close()
            put_in_place(self.part, self.path)

    def abandon(self, *, kept: bool) -> None:
        """Close it after an error. Where it is `kept`, what was flushed stays beside the name, up to the last chunk."""
        self._records.close()
        # What was left to write may not fit; it is what is cut off.
        with contextlib.suppress(OSError):
            self._stream.close()
        with refusals(self.path):
            if kept and self._records.whole:
                with opened(self.part, "r+b") as stream:
                    stream.truncate(self._records.whole)
            else:
                remove(self.part)
