"""Files of McapChunks are those that MCAP's own library writes and reads."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.apps.record import mcap_file as compression
from fleet_sim.apps.record import mcap_file as mcap_chunks
from fleet_sim.apps.record.mcap_file import CHUNK, ChunkCompressor, McapChunks
from fleet_sim.base.errors import InvalidValueError

pytest.importorskip("mcap")

from mcap.reader import SeekingReader
from mcap.writer import Writer
from zstandard import ZstdDecompressor, ZstdError

from fleet_sim.apps.record.mcap_index import McapIndex

MESSAGES = [(1 + number % 3, number * 10**8 if number != 7 else 5, bytes([number]) * 280_000) for number in range(60)]
"""Channel, time and content: 16.8 MB, and one whose time is before that of its neighbours."""
LONG = (1, 7 * 10**9, b"long" * CHUNK)


def written(stream: io.BytesIO) -> McapChunks:
    """Return a file with all kinds of records."""
    file = McapChunks(stream, "ros2", "test")
    schema = file.add_schema("std_msgs/msg/String", "ros2msg", b"string data")
    for number in range(3):
        file.add_channel(f"/topic_{number}", "cdr", schema, {"offered_qos_profiles": "none"})
    file.add_attachment("scenario.json", "application/json", b"{}")
    file.add_metadata("about", {"seed": "1"})
    for channel, now, data in (*MESSAGES, LONG, *MESSAGES):
        file.add_message(channel, now, memoryview(data))
    return file


def by_library() -> io.BytesIO:
    """Return the same, written by MCAP's own library."""
    stream = io.BytesIO()
    writer = Writer(stream)
    writer.start("ros2", "test")
    schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
    for number in range(3):
        writer.register_channel(f"/topic_{number}", "cdr", schema, {"offered_qos_profiles": "none"})
    writer.add_attachment(0, 0, "scenario.json", "application/json", b"{}")
    writer.add_metadata("about", {"seed": "1"})
    for channel, now, data in (*MESSAGES, LONG, *MESSAGES):
        writer.add_message(channel, now, data, now)
    writer.finish()
    return stream


def content(stream: io.BytesIO) -> tuple[object, ...]:
    """Return what a reader of the index finds, all checksums checked."""
    stream.seek(0)
    reader = SeekingReader(stream, validate_crcs=True)
    statistics = reader.get_summary().statistics
    statistics.chunk_count = 0
    return (
        [(schema, channel, message) for schema, channel, message in reader.iter_messages()],
        list(reader.iter_attachments()),
        list(reader.iter_metadata()),
        statistics,
        reader.get_header(),
    )


def test_a_file_has_what_the_library_of_mcap_would_write() -> None:
    stream = io.BytesIO()
    written(stream).finish()

    stream.seek(0)
    summary = SeekingReader(stream).get_summary()
    assert content(stream) == content(by_library())
    assert len(summary.chunk_indexes) == 5
    assert max(index.uncompressed_size for index in summary.chunk_indexes) < CHUNK + len(LONG[2])


def test_messages_added_at_once_are_those_added_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both files are compressed alike.
    monkeypatch.setattr(compression, "BETTER_SHARE", 1e-9)
    monkeypatch.setattr(compression, "BEST_SHARE", 1e-9)
    streams = io.BytesIO(), io.BytesIO()
    numbers = np.random.default_rng(0)
    files = [McapChunks(stream, "ros2", "test") for stream in streams]
    for file in files:
        schema = file.add_schema("std_msgs/msg/String", "ros2msg", b"string data")
        for number in range(300):
            file.add_channel(f"/topic_{number}", "cdr", schema, {})
    # The last ones are longer together than a chunk, and each of them is.
    for now, (count, length) in enumerate([(300, 7), (0, 5), (1, 0), (250, 90_000), (300, 1), (2, CHUNK)]):
        channels = 1 + numbers.permutation(300)[:count]
        data = numbers.integers(0, 256, (count, length), np.uint8)
        files[0].add_messages(channels, now, data)
        for channel, content in zip(channels.tolist(), data, strict=True):
            files[1].add_message(channel, now, content.data)
    for file in files:
        file.finish()
    assert streams[0].getvalue() == streams[1].getvalue()


def test_what_was_flushed_is_whole_and_the_rest_is_not_counted() -> None:
    stream = io.BytesIO()
    file = written(stream)
    file.flush()
    whole = file.whole
    file.add_message(1, 1, b"not flushed")
    file.close()

    assert whole == len(stream.getvalue())


def test_nothing_follows_a_chunk_that_did_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both files are compressed alike.
    monkeypatch.setattr(compression, "BETTER_SHARE", 1e-9)
    monkeypatch.setattr(compression, "BEST_SHARE", 1e-9)

    class FullDisk(io.BytesIO):
        def write(self, data: Any) -> int:
            # What is short still fits, as on a disk.
            if self.tell() + len(data) > 2 * CHUNK and len(data) > 1000:
                raise OSError(28, "no space left")
            return super().write(data)

    streams = FullDisk(), io.BytesIO()
    files = [McapChunks(stream, "ros2", "test") for stream in streams]
    noise = np.random.default_rng(0)

    def fill() -> None:
        for now in range(100):
            data = noise.bytes(CHUNK // 3)
            for file in reversed(files):
                file.add_message(1, now, data)

    with pytest.raises(OSError, match="no space"):
        fill()
    for file in files:
        file.close()
    whole = files[0].whole
    assert 0 < whole < 2 * CHUNK
    assert streams[0].getvalue()[:whole] == streams[1].getvalue()[:whole]


def test_a_topic_of_two_types_is_refused(tmp_path: Path) -> None:
    # The second type's messages would be read as if they were of the first.
    path = tmp_path / "two.mcap"
    with path.open("wb") as stream:
        file = McapChunks(stream, "ros2", "test")
        for kind in ("std_msgs/msg/String", "std_msgs/msg/Bool"):
            channel = file.add_channel("/topic", "cdr", file.add_schema(kind, "ros2msg", b"data"), {})
            file.add_message(channel, 1, b"data")
        file.finish()
    with pytest.raises(
        InvalidValueError, match="topic '/topic' is of two types, std_msgs/msg/String and std_msgs/msg/Bo"
    ):
        McapIndex(path)


def test_channels_of_one_type_are_one_topic(tmp_path: Path) -> None:
    path = tmp_path / "one.mcap"
    with path.open("wb") as stream:
        file = McapChunks(stream, "ros2", "test")
        schema = file.add_schema("std_msgs/msg/String", "ros2msg", b"data")
        for number in range(2):
            channel = file.add_channel("/topic", "cdr", schema, {})
            file.add_message(channel, number, b"%d" % number)
        file.finish()
    index = McapIndex(path)
    (topic,) = index.topics.values()
    assert [index.message(place) for place in topic.places] == [b"0", b"1"]
    assert index.whole
    index.close()


@pytest.mark.parametrize("chunk", [0, 3])
def test_a_chunk_that_was_changed_is_refused_by_every_reader(chunk: int, tmp_path: Path) -> None:
    stream = io.BytesIO()
    written(stream).finish()
    stream.seek(0)
    index = SeekingReader(stream).get_summary().chunk_indexes[chunk]
    path, content = tmp_path / "changed.mcap", bytearray(stream.getvalue())
    # The end of its checksum: as if any other byte had become another one.
    content[index.chunk_start_offset + index.chunk_length - 1] ^= 1
    path.write_bytes(content)

    with pytest.raises(InvalidValueError, match=r"changed\.mcap: broken at byte \d+: a chunk cannot be unpacked"):
        McapIndex(path)
    with path.open("rb") as file, pytest.raises(ZstdError):
        list(SeekingReader(file).iter_messages())


def test_more_topics_than_a_file_can_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcap_chunks, "MOST_CHANNELS", 3)
    file = written(io.BytesIO())

    with pytest.raises(InvalidValueError, match="more than 3 topics"):
        file.add_channel("/one_more", "cdr", 1, {})
    file.close()


def test_chunks_are_compressed_better_where_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    noise, compressor = np.random.default_rng(0), ChunkCompressor()
    # Noise, and pieces of it in another order.
    base = noise.bytes(200_000)
    begins, lengths = noise.integers(0, 199_000, 20_000).tolist(), noise.integers(8, 24, 20_000).tolist()
    pieces = [base[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]
    raw = memoryview(base + b"".join(pieces))

    # Compressing fast takes a second.
    monkeypatch.setattr(compression, "thread_time", itertools.count().__next__)
    hurried, between, leisurely, again = (compressor.compress(raw, time) for time in (0.0, 4.0, 3600.0, 0.0))

    assert len(leisurely) < 0.95 * len(hurried)
    assert len(leisurely) < len(between) < len(hurried)
    assert again == hurried
    for content in (hurried, between, leisurely):
        assert ZstdDecompressor().decompress(content) == raw


def test_chunks_are_compressed_fast_where_more_time_makes_nothing_smaller() -> None:
    noise, compressor = np.random.default_rng(0), ChunkCompressor()
    random, zeros = memoryview(noise.bytes(100_000)), memoryview(bytes(100_000))
    fast = [compressor.compress(content, 0.0) for content in (random, zeros)]

    assert len(compressor.compress(random, 3600.0)) == len(fast[0])
    # Nothing was gained, so that the next one is not tried.
    assert compressor.compress(zeros, 3600.0) == fast[1]
