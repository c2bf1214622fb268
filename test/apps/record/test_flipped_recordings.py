"""A recording with a changed bit is refused, or says that it is not whole; it never holds something else silently."""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.writer import Writer

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.apps.record.mcap_index import CHUNK, DATA_END, MESSAGE, MESSAGE_INDEX, McapIndex
from fleet_sim.apps.record.recording import UNCHECKED, Recording
from fleet_sim.base.errors import InvalidValueError

pytest.importorskip("mcap")

HEAD = struct.Struct("<BQ")
START = 8


def small(path: Path) -> bytes:
    """Write a recording of three chunks with two topics, and return its bytes."""
    with path.open("wb") as stream:
        file = Writer(stream, enable_data_crcs=True)
        file.start("ros2", "test")
        schema = file.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        for number in range(2):
            file.register_channel(f"/topic_{number}", "cdr", schema, {"offered_qos_profiles": "none"})
        file.add_attachment(0, 0, "scenario.json", "application/json", b"{}")
        file.add_metadata("about", {"seed": "1"})
        for number in range(12):
            file.add_message(1 + number % 2, number * 10**8, bytes([number]) * 9, number * 10**8)
            if number % 4 == 3:
                file.flush()
        file.finish()
    return path.read_bytes()


def without_checksum(data: bytes) -> bytes:
    """Return `data` as writers make it that have no checksum of the whole file."""
    begin, length = next((begin, length) for kind, begin, length in records(data) if kind == DATA_END)
    return data[: begin + HEAD.size] + bytes(length) + data[begin + HEAD.size + length :]


def records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, begin and length of the content of each record."""
    at = START
    while at + HEAD.size <= len(data) - START:
        kind, length = HEAD.unpack_from(data, at)
        yield kind, at, length
        at += HEAD.size + length


def content(path: Path) -> object:
    """Return all that a recording holds, and whether it is whole."""
    with contextlib.closing(McapIndex(path)) as index:
        messages = [(topic.name, topic.kind, place.time, index.message(place)) for topic, place in index.messages()]
        topics = {name: (topic.kind, topic.metadata) for name, topic in index.topics.items()}
        return messages, topics, index.metadata, index.attachments, index.whole


def silent(path: Path, data: bytes, bits: list[int]) -> list[int]:
    """Return which of `bits`, changed one at a time in `data`, give something else without a word."""
    path.write_bytes(data)
    wanted, found = content(path), []
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with contextlib.suppress(InvalidValueError):
            read = content(path)
            whole = read[-1]  # type: ignore[index]
            if read != wanted and whole:
                found.append(bit)
    return found


def test_every_bit_of_the_indexes_and_of_what_leads_to_them(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    # Those of a file with a checksum are among all of its bits, below.
    data = without_checksum(small(path))
    bits = []
    for kind, begin, length in records(data):
        size = HEAD.size + (length if kind == MESSAGE_INDEX else 40)
        if kind in (CHUNK, MESSAGE_INDEX):
            bits += range(8 * begin, 8 * (begin + size))
        if kind == CHUNK:
            # Some of its content, which has a checksum of its own.
            bits += random.Random(7).sample(range(8 * (begin + size), 8 * (begin + HEAD.size + length)), 100)
    assert len(bits) > 3000
    assert silent(path, data, bits) == []


def test_a_chunk_whose_index_misses_a_topic_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    data = bytearray(without_checksum(small(path)))
    # Of another kind, which means nothing there.
    data[next(begin for kind, begin, _ in records(data) if kind == MESSAGE_INDEX)] = MESSAGE
    path.write_bytes(data)
    with pytest.raises(InvalidValueError, match="not in its indexes"):
        content(path)


@pytest.mark.parametrize("share", [0.03, pytest.param(1.0, marks=pytest.mark.slow)])
def test_every_bit_of_a_recording(tmp_path: Path, share: float) -> None:
    path = tmp_path / "run.mcap"
    data = small(path)
    every = range(8 * len(data))
    bits = random.Random(7).sample(every, int(share * len(every)))
    assert silent(path, data, bits) == []


def test_a_recording_without_a_checksum_says_so(tmp_path: Path) -> None:
    source, path = tmp_path / "run.mcap", tmp_path / "unchecked.mcap"
    sim = MultiRobotSimulationCore.from_dict(
        {"simulation": {"gui": False, "monitor": False}, "robots": [{"name": "r"}]}
    )
    with contextlib.closing(sim):
        sim.record(source)
        sim.step_once()
    path.write_bytes(without_checksum(source.read_bytes()))
    with Recording(source) as whole, Recording(path) as unchecked:
        assert (whole.notes, unchecked.notes) == ((), (UNCHECKED,))


def test_a_recording_cut_at_any_byte_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    data = small(path)
    for length in range(START, len(data)):
        path.write_bytes(data[:length])
        with contextlib.suppress(InvalidValueError), contextlib.closing(McapIndex(path)) as index:
            assert not index.whole, length
