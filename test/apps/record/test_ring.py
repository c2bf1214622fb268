"""The memory through which a run gives its samples to the process that writes, and what happens when that is slow."""

from __future__ import annotations

import io
import itertools
import os
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import SeekingReader
from mcap.writer import Writer
from zstandard import ZstdDecompressor, ZstdError

import fleet_sim as fs
from fleet_sim.apps.record import mcap_file as compression
from fleet_sim.apps.record import mcap_file as mcap_chunks
from fleet_sim.apps.record import recorder as writing
from fleet_sim.apps.record.mcap_file import CHUNK, ChunkCompressor, McapChunks
from fleet_sim.apps.record.mcap_index import McapIndex
from fleet_sim.apps.record.recording import Recording
from fleet_sim.apps.record.samples import RingReceiver, RingSender, SampleDecoder, SampleEncoder
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import is_usable
from fleet_sim.world.snapshot import Snapshot

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

BOX = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))


def test_records_come_out_as_they_went_in_however_they_lie_in_the_ring() -> None:
    memory = memoryview(bytearray(64 + 4096))
    giver, taker, numbers = RingSender(memory), RingReceiver(memory), random.Random(3)
    given: list[tuple[int, bytes]] = []
    taken: list[tuple[int, bytes]] = []
    refused = 0
    for _ in range(3000):
        content = numbers.randbytes(numbers.randrange(giver.longest + 1))
        place = giver.place(len(given) % 3, len(content))
        if place is None:
            refused += 1
            taken += taker.take(giver.head)
            giver.tail = taker.tail
            continue
        place[:] = content
        # What is not whole is not there for the other one.
        assert taker.last_head == giver.head
        giver.commit()
        given.append((len(given) % 3, content))
    taken += taker.take(taker.last_head)
    assert taken == given
    assert refused > 100


def test_the_longest_record_always_fits_into_an_empty_ring() -> None:
    memory = memoryview(bytearray(64 + 4096))
    giver, taker = RingSender(memory), RingReceiver(memory)
    for step in range(200):
        assert giver.place(0, step % giver.longest) is not None
        giver.commit()
        list(taker.take(giver.head))
        giver.tail = taker.tail
        assert giver.place(0, giver.longest) is not None


def test_a_record_may_turn_out_shorter_than_its_place() -> None:
    memory = memoryview(bytearray(64 + 4096))
    giver, taker, numbers = RingSender(memory), RingReceiver(memory), random.Random(4)
    for _ in range(500):
        content = numbers.randbytes(numbers.randrange(giver.longest + 1))
        place = giver.place(7, giver.longest)
        assert place is not None
        place[: len(content)] = content
        giver.shorten(len(content))
        giver.commit()
        assert list(taker.take(giver.head)) == [(7, content)]
        giver.tail = taker.tail


def fleet(robots: int) -> fs.MultiRobotSimulationCore:
    # Without kernels samples are as long as can be.
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, monitor=False, compiled_code="never")
    sim = fs.MultiRobotSimulationCore(params)
    for number in range(robots):
        pose = fs.Pose.from_xyz(2.0 * number, 0.0, 0.1)
        sim.spawn(fs.AgentSpawnParams(BOX, BOX, pose, name=f"robot_{number}")).set_velocity(wz=1.0)
    return sim


def writing_process() -> int:
    """The process that writes for this one."""
    (own,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()[-1:]
    return int(own)


@pytest.mark.parametrize("on_full", ["wait", "drop"])
def test_a_full_ring_makes_the_run_wait_or_drops_and_counts(
    on_full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "RING", 2 << 20)
    with fleet(300) as sim:
        recording = sim.record(tmp_path / "run.mcap", rate=None, on_full=on_full)
        process = writing_process()
        if on_full == "drop":
            # As slow as can be.
            os.kill(process, signal.SIGSTOP)
        # Twice what fits into the ring.
        while sim.step_count < 120:
            sim.step_once()
        if on_full == "drop":
            assert recording.dropped > 40
            os.kill(process, signal.SIGCONT)
        dropped = recording.dropped
        recording.close()
    assert (dropped == 0) == (on_full == "wait")
    with Recording(tmp_path / "run.mcap") as written:
        assert len(written.times) == 121 - recording.dropped
        assert written.times[-1] == pytest.approx(12.0) or on_full == "drop"


def test_the_run_goes_on_without_the_process_that_writes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with fleet(2) as sim:
        recording = sim.record(tmp_path / "run.mcap", rate=None)
        sim.step_once()
        os.kill(writing_process(), signal.SIGKILL)
        while recording.error is None:
            sim.step_once()
        assert "has ended, with code -9" in str(recording.error)
        assert "the run goes on" in caplog.text
        sim.step_once()
        with pytest.raises(fs.FleetSimError, match="has ended"):
            recording.close()


# ---- Samples on their way to the process that writes: what changed since the last one, bit by bit --------------------


needs_kernels = pytest.mark.skipif(not is_usable(), reason="numba is not installed")
BOX_SAMPLES = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
STRANGE = np.array([0.0, -0.0, np.nan, -np.nan, 5e-324, 1.0, np.inf])
"""Numbers of which some are equal with other bits, or are not equal to themselves."""
FIELDS = ("positions", "orientations", "velocities", "angular_velocities", "carriers", "modes", "busy_mask", "blockers")


@pytest.fixture(params=[pytest.param(True, marks=needs_kernels), False], ids=["kernels", "arrays"])
def with_kernels(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def fleet_samples(robots: int, compiled_code: str = "auto") -> fs.MultiRobotSimulationCore:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, monitor=False, compiled_code=compiled_code)
    sim = fs.MultiRobotSimulationCore(params)
    for number in range(robots):
        pose = fs.Pose.from_xyz(0.5 * (number % 40), 0.5 * (number // 40), 0.1)
        robot = sim.spawn(fs.AgentSpawnParams(BOX_SAMPLES, BOX_SAMPLES, pose, name=f"robot_{number}"))
        if number % 3:
            robot.set_velocity(vx=0.1, wz=0.5)
    return sim


def assert_same(one: Snapshot, other: Snapshot) -> None:
    for name in FIELDS:
        # By their bits: zeros have signs.
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


def test_samples_come_out_bit_for_bit(with_kernels: bool) -> None:
    numbers = np.random.default_rng(5)
    with fleet_samples(50) as sim:
        giver, taker, read = SampleEncoder(), SampleDecoder(), []
        for step in range(60):
            if step % 20 == 13:
                giver.start_anew()
            state, roster, colors = sim.snapshots.look()
            true = sim.snapshots.take()
            data = bytearray(giver.longest(state))
            length = giver.write(memoryview(data), step, step, 0.1 * step, state, with_kernels=with_kernels)
            sample = taker.read(bytes(data[:length]), roster, colors, ())
            read.append((sample.snapshot, true))
            assert (sample.now, sample.snapshot.tick) == (step, step)
            # Whatever a column has: samples are of the state, and judge nothing.
            chosen = numbers.random(sim.world.velocity.shape) < 0.2
            sim.world.velocity[chosen] = numbers.choice(STRANGE, int(chosen.sum()))
        # Those that were read before have not changed since.
        for snapshot, true in read:
            assert_same(snapshot, true)


@needs_kernels
def test_a_sample_with_kernels_has_what_moved_only() -> None:
    with fleet_samples(300) as sim:
        giver = SampleEncoder()
        lengths = []
        for _ in range(3):
            sim.step_once()
            state, _, _ = sim.snapshots.look()
            place = memoryview(bytearray(giver.longest(state)))
            lengths.append(giver.write(place, 0, 0, 0.0, state, with_kernels=True))
        assert lengths[0] == giver.longest(state)
        assert lengths[1] == lengths[2] < lengths[0] / 3


def test_worlds_without_entities_are_recorded(with_kernels: bool, tmp_path: Path) -> None:
    with fleet_samples(0, "always" if with_kernels else "never") as sim, sim.record(tmp_path / "run.mcap", rate=None):
        sim.step_once()
        sim.spawn(fs.AgentSpawnParams(BOX_SAMPLES, BOX_SAMPLES, name="late"))
        sim.step_once()
        sim.clear()
        # The time of a recording goes on.
        sim.step_once()
        sim.step_once()
    with Recording(tmp_path / "run.mcap") as recording:
        names = [recording.snapshot_at(time).names for time in recording.times]
    assert names == [(), (), ("late",), (), ()]


@needs_kernels
def test_what_was_left_out_is_not_built_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So small that a sample goes through it in pieces, of which the first may find no room.
    monkeypatch.setattr(writing, "RING", 1 << 18)
    with fleet_samples(600, "always") as sim:
        recording = sim.record(tmp_path / "run.mcap", rate=None, on_full="drop")
        (process,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()[-1:]
        os.kill(int(process), signal.SIGSTOP)
        true = []
        for _ in range(200):
            sim.step_once()
            true.append(sim.get_snapshot())
        os.kill(int(process), signal.SIGCONT)
        taken = 0
        while taken < 5:
            dropped = recording.dropped
            sim.step_once()
            true.append(sim.get_snapshot())
            taken += recording.dropped == dropped
        recording.close()
        assert recording.dropped > 50
    with Recording(tmp_path / "run.mcap") as written:
        by_time = {snapshot.time: snapshot for snapshot in true}
        kept = [time for time in written.times if time in by_time]
        assert len(kept) > 5
        for time in kept:
            np.testing.assert_array_equal(written.snapshot_at(time).positions, by_time[time].positions)


# ---- Files of McapChunks are those that MCAP's own library writes and reads ------------------------------------------


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
