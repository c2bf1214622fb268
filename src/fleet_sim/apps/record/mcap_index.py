"""McapIndex: where each message of an MCAP file is, also of one that was cut off or made by somebody else to do harm.

The records are read one after the other, without the summary at the end: what a killed run left has none, and one that
lies would be believed. Everything read is bounded by the size of the file and by the limits below.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fleet_sim.apps.record.message_types import McapFile
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import as_path, check_target, is_file, opened, part_of

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, ATTACHMENT, METADATA = 0x02, 0x03, 0x04, 0x05, 0x06, 0x09, 0x0C
MESSAGE_INDEX, DATA_END = 0x07, 0x0F
KNOWN = range(1, DATA_END + 1)
OWN = range(0x80, 0x100)
"""Opcodes of the format, and those that a writer may use for records of its own."""
_HEAD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_CHUNK = struct.Struct("<QQQI")
_FOOTER = struct.Struct("<QQI")
_ENTRY = struct.Struct("<QQ")
LARGEST_CHUNK = 256_000_000
"""Bytes of a chunk, uncompressed."""
MOST_CHANNELS = 200_000
MOST_MESSAGES = 50_000_000
LARGEST_TEXT = 64_000_000
"""Bytes of an attachment, of a schema, of metadata."""


class Fields:
    """Reads the fields of a record, in order; raises InvalidValueError where one goes beyond its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, kind: str) -> int:
        """Return the next number, of a `struct` type."""
        return int(struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)))[0])

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        if count > len(self._data) - self._at:
            raise InvalidValueError("a record is shorter than it says")
        self._at += count
        return self._data[self._at - count : self._at]

    def text(self) -> str:
        """Return the next text."""
        return self.take(self.number("I")).decode("utf-8", "replace")

    def mapping(self) -> dict[str, str]:
        """Return the next mapping of texts."""
        inner, found = Fields(self.take(self.number("I"))), {}
        while inner.has_more:
            key = inner.text()
            found[key] = inner.text()
        return found

    @property
    def has_more(self) -> bool:
        """Whether there is more."""
        return self._at < len(self._data)

    def rest(self) -> bytes:
        """Return all that is left."""
        return self.take(len(self._data) - self._at)


@dataclass(frozen=True)
class Place:
    """A message: its time in ns, the number of its chunk, and where its bytes are in there."""

    time: int
    chunk: int
    start: int
    end: int


@dataclass
class Topic:
    """One topic of a file."""

    name: str
    kind: str
    metadata: dict[str, str]
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class _Chunk:
    offset: int
    length: int
    compression: str
    size: int
    crc: int
    """Of the chunk, uncompressed; 0 where the writer made none."""


class McapIndex:
    """The topics of a file by name, its metadata and attachments, and the messages on demand.

    `whole` tells whether the file ends as it should, `checked` whether a checksum of all before its summary fits: only
    that covers metadata, and the kinds of records. Raises InvalidValueError for what is no MCAP file, or one beyond
    the limits, and MissingDependencyError without the extra `record`.
    """

    def __init__(self, path: str | Path) -> None:
        with of_extra("zstandard", "record", "a recording"):
            import zstandard
        self._zstd = zstandard
        self.path = as_path(path)
        self.topics: dict[str, Topic] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self.attachments: dict[str, bytes] = {}
        self.whole = self.checked = False
        self.message_count = 0
        self._schemas: dict[int, tuple[str, bytes]] = {}
        self._channels: dict[int, Topic] = {}
        self._chunks: list[_Chunk] = []
        self._open: dict[int, bytes] = {}
        # Of the last chunk: the entries that its indexes must have, by channel, and whether it has some.
        self._entries: dict[int, bytearray] = {}
        self._has_indexes = False
        try:
            self._stream: BinaryIO = opened(self.path, "rb")
        except OSError as error:
            part = f"{path}.part"
            # A run that was killed leaves it.
            left = f"; there is {part}, of a run that did not end" if is_file(part) else ""
            raise InvalidValueError(f"{path}: cannot be read: {error.strerror or error}{left}") from error
        try:
            self._read_all()
        except BaseException:
            self._stream.close()
            raise

    def close(self) -> None:
        """Close the file; nothing can be read from then on."""
        self._stream.close()

    def definition_of(self, kind: str) -> bytes:
        """Return the text that describes a message type in this file; nothing where it is not described."""
        return next((text for name, text in self._schemas.values() if name == kind), b"")

    def message(self, place: Place) -> bytes:
        """Return the bytes of a message."""
        return self._content(place.chunk)[place.start : place.end]

    def messages(self) -> Iterator[tuple[Topic, Place]]:
        """Yield all messages in the order in which they were written."""
        found = [(topic, place) for topic in self.topics.values() for place in topic.places]
        return iter(sorted(found, key=lambda item: (item[1].chunk, item[1].start)))

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _refuse(self, reason: str) -> InvalidValueError:
        return InvalidValueError(f"{self.path}: {reason}")

    def _read_all(self) -> None:
        """Read all records; a file that was cut off counts up to its last whole record.

        Raises InvalidValueError, with the place, for what no recorder writes.
        """
        size = os.fstat(self._stream.fileno()).st_size
        if self._stream.read(len(MAGIC)) != MAGIC:
            raise self._refuse("it is not an MCAP file: it does not begin as one")
        at = len(MAGIC)
        # What a killed run wrote last may have been cut off anywhere; all before it counts.
        while at + _HEAD.size <= size:
            self._stream.seek(at)
            opcode, length = _HEAD.unpack(self._stream.read(_HEAD.size))
            begin, at = at, at + _HEAD.size + length
            try:
                if at > size:
                    # What was cut off does not end as a file that is whole.
                    if self._bytes(max(size - len(MAGIC), 0), size) == MAGIC:
                        raise InvalidValueError("a record goes beyond the end of the file")
                    return
                if opcode == FOOTER:
                    self._read_end(begin, length, size)
                    return
                self._record(opcode, at - length, length)
            except InvalidValueError as error:
                raise self._refuse(f"broken at byte {at - length}: {error}") from error

    def _bytes(self, begin: int, end: int) -> bytes:
        self._stream.seek(begin)
        return self._stream.read(end - begin)

    def _read_end(self, begin: int, length: int, size: int) -> None:
        """Take in the last record, at `begin`; raises InvalidValueError where it, or the summary, was changed."""
        after = begin + _HEAD.size + length
        if after + len(MAGIC) > size:
            return
        if length != _FOOTER.size or self._bytes(after, size) != MAGIC:
            raise InvalidValueError("the file does not end as an MCAP file")
        summary, _, checksum = _FOOTER.unpack(self._bytes(after - length, after))
        if checksum and not (0 < summary <= begin and self._checksum(summary, after - 4) == checksum):
            raise InvalidValueError("the summary is not what was written: its checksum differs")
        self.whole = True

    def _checksum(self, begin: int, end: int) -> int:
        """Return the checksum of the bytes from `begin` to `end`."""
        self._stream.seek(begin)
        checksum = 0
        while begin < end and (block := self._stream.read(min(end - begin, 1_000_000))):
            checksum, begin = zlib.crc32(block, checksum), begin + len(block)
        return checksum

    def _record(self, opcode: int, offset: int, length: int) -> None:
        """Take in one record at `offset`; raises InvalidValueError for broken, huge and changed ones."""
        if opcode not in KNOWN and opcode not in OWN:
            raise InvalidValueError(f"a record of the kind {opcode:#x}, which there is not")
        if opcode != MESSAGE_INDEX and self._has_indexes and self._entries:
            raise InvalidValueError("a chunk has messages that are not in its indexes")
        if opcode == CHUNK:
            self._read_chunk(offset, length)
        elif opcode == MESSAGE_INDEX:
            self._check_index(Fields(self._stream.read(length)))
        elif opcode == DATA_END:
            checksum = Fields(self._stream.read(length)).number("I")
            if checksum and checksum != self._checksum(0, offset - _HEAD.size):
                raise InvalidValueError("the file is not what was written: its checksum differs")
            self.checked = bool(checksum)
        elif opcode in (ATTACHMENT, METADATA):
            if length > LARGEST_TEXT:
                raise InvalidValueError(f"a text of {length} bytes; at most {LARGEST_TEXT} are read")
            content = self._stream.read(length)
            fields = Fields(content)
            if opcode == METADATA:
                name = fields.text()
                self.metadata[name] = fields.mapping()
                return
            fields.take(16)
            name = fields.text()
            fields.text()
            self.attachments[name] = fields.take(fields.number("Q"))
            crc = fields.number("I")
            if crc and zlib.crc32(content[:-4]) != crc:
                raise InvalidValueError(f"the file {name!r} in it is not what was written: its checksum differs")

    def _read_chunk(self, offset: int, length: int) -> None:
        """Note where each message of a chunk is; raises InvalidValueError for sizes that do not fit."""
        head = Fields(self._stream.read(min(length, 200)))
        first, last, size, crc = _CHUNK.unpack(head.take(_CHUNK.size))
        compression = head.text()
        compressed = head.number("Q")
        begin = _CHUNK.size + 4 + len(compression.encode()) + 8
        if compressed != length - begin or size > LARGEST_CHUNK or compression not in ("", "zstd"):
            raise InvalidValueError(f"a chunk of {size} bytes, compressed by {compression!r} to {compressed}")
        self._chunks.append(_Chunk(offset + begin, compressed, compression, size, crc))
        number = len(self._chunks) - 1
        content = self._content(number)
        self._entries, self._has_indexes = {}, False
        for opcode, start, end in _records_in(content):
            if opcode == MESSAGE:
                self._note_message(content, number, start, end)
            elif opcode == SCHEMA:
                fields = Fields(content[start:end])
                schema, kind, _ = fields.number("H"), fields.text(), fields.text()
                self._schemas[schema] = (kind, fields.take(fields.number("I")))
            elif opcode == CHANNEL:
                self._note_channel(Fields(content[start:end]))
        times = [time for entries in self._entries.values() for time, _ in _ENTRY.iter_unpack(entries)]
        if times and (min(times), max(times)) != (first, last):
            raise InvalidValueError("a chunk has messages of other times than it says")

    def _check_index(self, fields: Fields) -> None:
        """Raise InvalidValueError unless an index has exactly the messages of its channel in the chunk before it."""
        channel = fields.number("H")
        entries = fields.take(fields.number("I"))
        expected = bytes(self._entries.pop(channel, b""))
        self._has_indexes = True
        if entries != expected and sorted(_ENTRY.iter_unpack(_padded(entries))) != sorted(_ENTRY.iter_unpack(expected)):
            raise InvalidValueError("an index does not fit the messages of its chunk")
        if fields.has_more:
            raise InvalidValueError("an index is longer than it says")

    def _note_channel(self, fields: Fields) -> None:
        """Take in a channel; several of one name are one topic. Raises InvalidValueError for other encodings."""
        channel, schema, name = fields.number("H"), fields.number("H"), fields.text()
        encoding = fields.text()
        if encoding != "cdr" or schema not in self._schemas or len(self._channels) >= MOST_CHANNELS:
            raise InvalidValueError(
                f"topic {name[:80]!r} in {encoding[:20]!r} without a known type, or too many topics"
            )
        known = self.topics.setdefault(name, Topic(name, self._schemas[schema][0], fields.mapping()))
        if known.kind != self._schemas[schema][0]:
            raise InvalidValueError(f"topic {name[:80]!r} is of two types, {known.kind} and {self._schemas[schema][0]}")
        self._channels[channel] = known

    def _note_message(self, content: bytes, chunk: int, start: int, end: int) -> None:
        """Note time and place of a message; raises InvalidValueError for one without a topic or a time."""
        if end - start < _MESSAGE.size:
            raise InvalidValueError("a message is shorter than its head")
        channel, _, time, _ = _MESSAGE.unpack_from(content, start)
        topic = self._channels.get(channel)
        self.message_count += 1
        if topic is None or self.message_count > MOST_MESSAGES or time >= 2**63:
            raise InvalidValueError("a message of no known topic, of no time, or one too many")
        topic.places.append(Place(time, chunk, start + _MESSAGE.size, end))
        self._entries.setdefault(channel, bytearray()).extend(_ENTRY.pack(time, start - _HEAD.size))

    def _content(self, number: int) -> bytes:
        """Return the unpacked content of a chunk; the last few stay in memory."""
        content = self._open.get(number)
        if content is None:
            chunk = self._chunks[number]
            self._stream.seek(chunk.offset)
            content = self._unpacked(self._stream.read(chunk.length), chunk)
            # Neighbours in time are in the same few chunks.
            while len(self._open) >= 4:
                self._open.pop(next(iter(self._open)))
            self._open[number] = content
        return content

    def _unpacked(self, data: bytes, chunk: _Chunk) -> bytes:
        """Return the content of a chunk; raises InvalidValueError unless size and checksum are as it says."""
        if chunk.compression:
            try:
                # The frame says how much it needs, too: what says more than the chunk is not begun.
                if self._zstd.frame_content_size(data) != chunk.size:
                    raise InvalidValueError("a chunk is not as long as it says")
                data = self._zstd.ZstdDecompressor().decompress(data, max_output_size=chunk.size)
            except self._zstd.ZstdError as error:
                raise InvalidValueError(f"a chunk cannot be unpacked: {error}") from error
        if len(data) != chunk.size:
            raise InvalidValueError("a chunk is not as long as it says")
        if chunk.crc and zlib.crc32(data) != chunk.crc:
            raise InvalidValueError("a chunk is not what was written: its checksum differs")
        return data


def _padded(entries: bytes) -> bytes:
    """Return `entries` with the last one whole: one that was cut off equals no entry of a chunk."""
    return entries + b"\xff" * (-len(entries) % _ENTRY.size)


def _records_in(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield opcode, start and end of each record in a chunk."""
    at = 0
    while at < len(content):
        if at + _HEAD.size > len(content):
            raise InvalidValueError("a chunk ends within a record")
        opcode, length = _HEAD.unpack_from(content, at)
        at += _HEAD.size + length
        if at > len(content):
            raise InvalidValueError("a record goes beyond its chunk")
        yield opcode, at - length, at


def count_until(places: list[Place], time: int) -> int:
    """Return how many of `places`, in order of time, are at most of `time`."""
    return bisect_right(places, time, key=lambda place: place.time)


# Makes a recording that was cut off whole again.


CHUNK_TIME = 1_000_000_000
"""In ns of simulated time, of a chunk."""


def repair(source: str | Path, target: str | Path) -> int:
    """Write all that can be read of the recording `source` to `target`; return the number of messages.

    `source` stays as it is. Raises InvalidValueError for what is no MCAP file, and where `target` cannot be
    written, or is `source`.
    """
    source, target = as_path(source), as_path(target)
    if target.suffix.lower() != ".mcap":
        raise InvalidValueError(f"{target}: recordings are written to files that end in .mcap")
    check_target(target)
    with contextlib.closing(McapIndex(source)) as index:
        if is_file(target) and source.resolve() == target.resolve():
            raise InvalidValueError(f"{target}: it is the file that is read; give the new recording another name")
        # Not beside it, where the unfinished recording is in the way, or what a killed repair has left.
        file = McapFile(target, part=part_of(target))
        try:
            _copy(index, file)
            file.finish()
        except BaseException:
            file.abandon(kept=False)
            raise
        return index.message_count


def _copy(index: McapIndex, file: McapFile) -> None:
    """Write to `file` what `index` has found."""
    for name, data in index.attachments.items():
        file.attach(name, "application/json", data)
    for name, values in index.metadata.items():
        file.describe(name, values)
    begin = 0
    for topic, place in index.messages():
        if place.time - begin > CHUNK_TIME:
            file.flush()
            begin = place.time
        text = index.definition_of(topic.kind)
        channel = file.copied_channel(topic.name, topic.kind, text, topic.metadata)
        file.write(channel, place.time, index.message(place))
