"""McapChunks: the records of an MCAP file, with messages in chunks that another thread compresses."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from time import perf_counter
from typing import TYPE_CHECKING, BinaryIO

from fleet_sim.errors import InvalidValueError, missing_extra
from fleet_sim.record.compression import ChunkCompressor

if TYPE_CHECKING:
    from mcap.records import McapRecord

MAGIC = b"\x89MCAP0\r\n"
CHUNK = 16_000_000
"""Bytes before compression that a chunk has at most, unless a single message is longer: an eighth less to write than in
chunks of 1 MB, as more repeats, and each has an index with all its topics. Who flushes says how old one may be."""
UNDER_WAY = 2
"""Chunks that wait to be compressed or written; with more, who adds messages waits."""
MOST_CHANNELS = 65_535
_COMPRESSION = b"zstd"
_NO_CHECKSUM = 0
_MESSAGE = struct.Struct("<BQHIQQ")
_MESSAGE_FIELDS = _MESSAGE.size - 9
"""Of the head of a message, what counts as its content: all after the kind and the length."""
_CHUNK = struct.Struct(f"<BQQQQII{len(_COMPRESSION)}sQ")
MESSAGE, CHUNK_KIND, MESSAGE_INDEX, FOOTER = 0x05, 0x06, 0x07, 0x02


@dataclass
class _ChunkUnderWay:
    """Messages of one chunk; `places` by channel: time and place of each message, one after the other."""

    memory: memoryview
    used: int = 0
    places: dict[int, list[int]] = field(default_factory=dict)
    begin: int = 0
    end: int = 0
    filled_since: float = field(default_factory=perf_counter)
    filling_time: float = 0.0
    """In s of real time."""


class McapChunks:
    """Writes the records of an MCAP file to `stream`, in the order in which they are added.

    Messages are whole in the file when `flush` has returned. For one thread; raises what the stream raises,
    InvalidValueError for more than MOST_CHANNELS channels, and MissingDependencyError without the extra `record`.
    """

    def __init__(self, stream: BinaryIO, profile: str, library: str) -> None:
        try:
            from mcap import records
        except ModuleNotFoundError as error:
            raise missing_extra("mcap", "record", "a recording") from error
        self._records, self._stream = records, stream
        # One thread: a compressor is for one, and what it waits for is given up to here by one, too.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="compress chunks")
        self._compressor = ChunkCompressor()
        self._under_way = deque[tuple[_ChunkUnderWay, Future[None]]]()
        # Used again: memory that is new costs as much as what is done in it.
        self._free = list[memoryview]()
        self._chunk = _ChunkUnderWay(_memory(CHUNK))
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
        stream.write(MAGIC + _bytes_of(records.Header(profile, library)))

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
        place = self._room(len(content))
        self._chunk.memory[place : place + len(content)] = content

    def add_message(self, channel: int, now: int, data: bytes | memoryview) -> None:
        """Add a message of the time `now` in ns; `data` is copied."""
        length = len(data)
        place = self._room(_MESSAGE.size + length)
        chunk = self._chunk
        body = place + _MESSAGE.size
        _MESSAGE.pack_into(chunk.memory, place, MESSAGE, _MESSAGE_FIELDS + length, channel, 0, now, now)
        chunk.memory[body : body + length] = data
        places = chunk.places
        if not places:
            chunk.begin = chunk.end = now
        elif now > chunk.end:
            chunk.end = now
        elif now < chunk.begin:
            chunk.begin = now
        if channel in places:
            places[channel] += (now, place)
        else:
            places[channel] = [now, place]

    def _room(self, length: int) -> int:
        """Return where in the chunk there is room for `length` bytes, in a new one if there is none in this one."""
        chunk = self._chunk
        if chunk.used + length > len(chunk.memory):
            if chunk.places:
                self._end_chunk()
                chunk = self._chunk
            if chunk.used + length > len(chunk.memory):
                larger = _memory(chunk.used + length)
                larger[: chunk.used] = chunk.memory[: chunk.used]
                chunk.memory = larger
        chunk.used += length
        return chunk.used - length

    def _end_chunk(self) -> None:
        """Hand the chunk to the pool, and go on in a free one; waits where too many are under way."""
        chunk = self._chunk
        if not chunk.places:
            return
        # Without what it waits for below, which is compressing.
        chunk.filling_time = perf_counter() - chunk.filled_since
        while len(self._under_way) >= UNDER_WAY:
            self._await_oldest()
        self._under_way.append((chunk, self._pool.submit(self._write_chunk, chunk)))
        while self._under_way[0][1].done() and len(self._under_way) > 1:
            self._await_oldest()
        self._chunk = _ChunkUnderWay(self._free.pop() if self._free else _memory(CHUNK))

    def _await_oldest(self) -> None:
        """Wait until the oldest chunk under way is in the file; raises what writing it raised."""
        chunk, written = self._under_way.popleft()
        written.result()
        if len(chunk.memory) == CHUNK:
            self._free.append(chunk.memory)

    def _write_chunk(self, chunk: _ChunkUnderWay) -> None:
        """Compress a chunk and write it, in the thread of the pool: nobody else writes while chunks are under way."""
        # What comes behind half a chunk could not be found again; the error of that one is raised first.
        if self._broken:
            return
        self._broken = True
        # All of this leaves the interpreter to the thread that makes messages meanwhile.
        raw = chunk.memory[: chunk.used]
        content = self._compressor.compress(raw, chunk.filling_time)
        start = self._stream.tell()
        length = _CHUNK.size - 9 + len(content)
        self._stream.write(
            _CHUNK.pack(
                *(CHUNK_KIND, length, chunk.begin, chunk.end, chunk.used, _NO_CHECKSUM),
                *(len(_COMPRESSION), _COMPRESSION, len(content)),
            )
        )
        self._stream.write(content)
        offsets, index_length = self._write_index(chunk)
        self._first = min(self._first, chunk.begin) if self._chunk_indexes else chunk.begin
        self._last = max(self._last, chunk.end)
        self._chunk_indexes.append(
            self._records.ChunkIndex(
                chunk_start_offset=start,
                chunk_length=9 + length,
                message_start_time=chunk.begin,
                message_end_time=chunk.end,
                message_index_offsets=offsets,
                message_index_length=index_length,
                compression=_COMPRESSION.decode(),
                compressed_size=len(content),
                uncompressed_size=chunk.used,
            )
        )
        # Out of this process at once, so that its end takes no chunk with it.
        self._stream.flush()
        self.whole = self._stream.tell()
        self._broken = False

    def _write_index(self, chunk: _ChunkUnderWay) -> tuple[dict[int, int], int]:
        """Write where the messages of a chunk are; return where that is for each channel, and the length of all."""
        offsets, start, index = dict[int, int](), self._stream.tell(), BytesIO()
        for channel, places in chunk.places.items():
            offsets[channel] = start + index.tell()
            size = 8 * len(places)
            index.write(struct.pack(f"<BQHI{len(places)}Q", MESSAGE_INDEX, 6 + size, channel, size, *places))
            self._counts[channel] = self._counts.get(channel, 0) + len(places) // 2
        self._stream.write(index.getbuffer())
        return offsets, index.tell()

    # ---- beside chunks -----------------------------------------------------------------------------------------------

    def add_attachment(self, name: str, media_type: str, data: bytes) -> None:
        """Add a whole file."""
        record = self._records.Attachment(create_time=0, log_time=0, name=name, media_type=media_type, data=data)
        offset, length = self._write(record)
        self._attachments.append(
            self._records.AttachmentIndex(
                *(offset, length, 0, 0, len(data), name, media_type),
            )
        )

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Add texts about the file."""
        offset, length = self._write(self._records.Metadata(name=name, metadata=dict(values)))
        self._metadata.append(self._records.MetadataIndex(offset=offset, length=length, name=name))

    def _write(self, record: McapRecord) -> tuple[int, int]:
        while self._under_way:
            self._await_oldest()
        offset, content = self._stream.tell(), _bytes_of(record)
        self._stream.write(content)
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
        self._stream.write(_bytes_of(self._records.DataEnd(0)))
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


def _memory(length: int) -> memoryview:
    # A view: bytearrays make a copy of their own of what is written to a slice of them.
    return memoryview(bytearray(length))


def _bytes_of(record: McapRecord) -> bytes:
    from mcap.data_stream import RecordBuilder

    builder = RecordBuilder()
    record.write(builder)
    content: bytes = builder.end()  # type: ignore[no-untyped-call]
    return content
