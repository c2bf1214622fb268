"""The memory through which a run gives its samples to the process that writes, and what happens when that is slow."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import SeekingReader
from mcap.writer import Writer

import fleet_sim as fs
from fleet_sim.apps.record import message_types
from fleet_sim.apps.record import recorder as writing
from fleet_sim.apps.record.mcap_index import McapIndex
from fleet_sim.apps.record.message_types import STATE, McapFile
from fleet_sim.apps.record.recording import Recording
from fleet_sim.apps.record.samples import RingReceiver, RingSender, SampleDecoder, SampleEncoder
from fleet_sim.base.errors import InvalidValueError
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
        assert taker.last_head == giver.head
        if not giver.put(len(given) % 3, [content[:5], content[5:]]):
            refused += 1
            taken += taker.take(giver.head)
            giver.tail = taker.tail
            continue
        given.append((len(given) % 3, content))
    taken += taker.take(taker.last_head)
    assert taken == given
    assert refused > 100


def test_the_longest_record_always_fits_into_an_empty_ring() -> None:
    memory = memoryview(bytearray(64 + 4096))
    giver, taker = RingSender(memory), RingReceiver(memory)
    for step in range(200):
        for length in (step % giver.longest, giver.longest):
            assert giver.put(0, [bytes(length)])
            list(taker.take(giver.head))
            giver.tail = taker.tail


def fleet(robots: int) -> fs.MultiRobotSimulationCore:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, monitor=False)
    sim = fs.MultiRobotSimulationCore(params)
    for number in range(robots):
        pose = fs.Pose.from_xyz(2.0 * number, 0.0, 0.1)
        sim.spawn(fs.AgentSpawnParams(BOX, BOX, pose, name=f"robot_{number}")).set_velocity(wz=1.0)
    return sim


def writing_process() -> int:
    """The process that writes for this one."""
    (own,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()[-1:]
    return int(own)


def last_goal(snapshot: Snapshot, name: str) -> Any:
    """Where the path of a robot ends, (3,)."""
    return snapshot.path_positions[snapshot.path_starts[snapshot.index_of(name) + 1] - 1]


@pytest.mark.parametrize("on_full", ["wait", "drop"])
def test_a_full_ring_makes_the_run_wait_or_drops_and_counts(
    on_full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "RING", 2 << 20)
    with fleet(300) as sim:
        robot = sim.get_object("robot_0")
        robot.set_path([fs.Pose((0.0, 9e4, 0.1))])
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
            robot.set_path([fs.Pose((0.0, -9e4, 0.1))])
            sim.run_simulation(1.0)
            os.kill(process, signal.SIGCONT)
            dropped = -1
            while dropped != recording.dropped:
                dropped = recording.dropped
                sim.step_once()
        dropped = recording.dropped
        recording.close()
    assert (dropped == 0) == (on_full == "wait")
    with Recording(tmp_path / "run.mcap") as written:
        assert len(written.times) == sim.step_count + 1 - recording.dropped
        assert written.times[-1] == pytest.approx(sim.sim_time)
        # A path that came while samples were dropped is in the next one.
        goal = last_goal(written.snapshot_at(written.times[-1]), "robot_0")
        assert goal[1] == (-9e4 if on_full == "drop" else 9e4)


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


# ---- Samples on their way to the process that writes, bit by bit -----------------------------------------------------


BOX_SAMPLES = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
STRANGE = np.array([0.0, -0.0, np.nan, -np.nan, 5e-324, 1.0, np.inf])
"""Numbers of which some are equal with other bits, or are not equal to themselves."""
FIELDS = ("positions", "orientations", "velocities", "angular_velocities", "carriers", "modes", "busy_mask", "blockers")


def fleet_samples(robots: int) -> fs.MultiRobotSimulationCore:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, monitor=False)
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


def test_samples_come_out_bit_for_bit() -> None:
    numbers = np.random.default_rng(5)
    with fleet_samples(50) as sim:
        giver, taker, read = SampleEncoder(), SampleDecoder(), []
        for step in range(60):
            if step % 20 == 13:
                giver.start_anew()
            state, roster, colors = sim.snapshots.look()
            true = sim.snapshots.take()
            sample = taker.read(b"".join(giver.pieces(step, step, 0.1 * step, state)), roster, colors, ())
            read.append((sample.snapshot, true))
            assert (sample.now, sample.snapshot.tick) == (step, step)
            # Whatever a column has: samples are of the state, and judge nothing.
            chosen = numbers.random(sim.world.velocity.shape) < 0.2
            sim.world.velocity[chosen] = numbers.choice(STRANGE, int(chosen.sum()))
        # Those that were read before have not changed since.
        for snapshot, true in read:
            assert_same(snapshot, true)


def test_worlds_without_entities_are_recorded(tmp_path: Path) -> None:
    with fleet_samples(0) as sim, sim.record(tmp_path / "run.mcap", rate=None):
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


def test_what_was_left_out_is_not_built_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So small that a sample goes through it in pieces, of which the first may find no room.
    monkeypatch.setattr(writing, "RING", 1 << 18)
    with fleet_samples(600) as sim:
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


# ---- Files of others, and changed ones -------------------------------------------------------------------------------


def writer_to(stream: Any) -> Writer:
    writer = Writer(stream)
    writer.start("ros2", "test")
    return writer


def test_a_topic_of_two_types_is_refused(tmp_path: Path) -> None:
    # The second type's messages would be read as if they were of the first.
    path = tmp_path / "two.mcap"
    with path.open("wb") as stream:
        writer = writer_to(stream)
        for kind in ("std_msgs/msg/String", "std_msgs/msg/Bool"):
            channel = writer.register_channel("/topic", "cdr", writer.register_schema(kind, "ros2msg", b"data"), {})
            writer.add_message(channel, 1, b"data", 1)
        writer.finish()
    with pytest.raises(
        InvalidValueError, match="topic '/topic' is of two types, std_msgs/msg/String and std_msgs/msg/Bo"
    ):
        McapIndex(path)


def test_channels_of_one_type_are_one_topic(tmp_path: Path) -> None:
    path = tmp_path / "one.mcap"
    with path.open("wb") as stream:
        writer = writer_to(stream)
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"data")
        for number in range(2):
            writer.add_message(writer.register_channel("/topic", "cdr", schema, {}), number, b"%d" % number, number)
        writer.finish()
    index = McapIndex(path)
    (topic,) = index.topics.values()
    assert [index.message(place) for place in topic.places] == [b"0", b"1"]
    assert index.whole
    index.close()


def test_what_was_flushed_is_kept_of_a_file_that_was_given_up(tmp_path: Path) -> None:
    file = McapFile(tmp_path / "run.mcap")
    channel = file.channel("/text", "std_msgs/msg/String", STATE)
    for number in range(3):
        file.write(channel, number, b"%d" % number)
    file.flush()
    file.write(channel, 3, b"3")
    file.abandon(kept=True)
    with contextlib.closing(McapIndex(file.part)) as index:
        assert [index.message(place) for _, place in index.messages()] == [b"0", b"1", b"2"]
        assert not index.whole


def test_a_chunk_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    file = McapFile(path)
    file.write(file.channel("/text", "std_msgs/msg/String", STATE), 1, b"text" * 100)
    file.finish()
    with path.open("rb") as stream:
        (index,) = SeekingReader(stream).get_summary().chunk_indexes
    content = bytearray(path.read_bytes())
    content[index.chunk_start_offset + index.chunk_length - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidValueError, match=r"run\.mcap: broken at byte \d+: a chunk"):
        McapIndex(path)


def test_more_topics_than_a_file_can_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_types, "MOST_CHANNELS", 3)
    file = McapFile(tmp_path / "run.mcap")
    for number in range(3):
        file.channel(f"/topic_{number}", "std_msgs/msg/String", STATE)
    with pytest.raises(InvalidValueError, match="more than 3 topics"):
        file.channel("/one_more", "std_msgs/msg/String", STATE)
    file.abandon(kept=False)
