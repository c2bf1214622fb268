"""McapChunks: the records of an MCAP file, with messages in chunks that another thread compresses."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.errors import InvalidValueError, missing_extra
from fleet_sim.record.compression import ChunkCompressor
from fleet_sim.record.open_chunk import OpenChunk, message_size

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
_CHUNK = struct.Struct(f"<BQQQQII{len(_COMPRESSION)}sQ")
CHUNK_KIND, FOOTER = 0x06, 0x02


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
        self._stream.write(
            _CHUNK.pack(
                *(CHUNK_KIND, length, begin, end, chunk.used, _NO_CHECKSUM),
                *(len(_COMPRESSION), _COMPRESSION, len(content)),
            )
        )
        self._stream.write(content)
        index = chunk.index(self._stream.tell())
        self._stream.write(index.content)
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


def _bytes_of(record: McapRecord) -> bytes:
    from mcap.data_stream import RecordBuilder

    builder = RecordBuilder()
    record.write(builder)
    content: bytes = builder.end()  # type: ignore[no-untyped-call]
    return content
