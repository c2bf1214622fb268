"""The memory through which a run gives its samples to the process that writes, and what happens when that is slow."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.apps.record.samples import RingGiver, RingTaker

pytest.importorskip("mcap")
pytest.importorskip("rosbags")
from fleet_sim.apps.record.recording import Recording

BOX = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))


def test_records_come_out_as_they_went_in_however_they_lie_in_the_ring() -> None:
    memory = memoryview(bytearray(64 + 4096))
    giver, taker, numbers = RingGiver(memory), RingTaker(memory), random.Random(3)
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
    giver, taker = RingGiver(memory), RingTaker(memory)
    for step in range(200):
        assert giver.place(0, step % giver.longest) is not None
        giver.commit()
        list(taker.take(giver.head))
        giver.tail = taker.tail
        assert giver.place(0, giver.longest) is not None


def test_a_record_may_turn_out_shorter_than_its_place() -> None:
    memory = memoryview(bytearray(64 + 4096))
    giver, taker, numbers = RingGiver(memory), RingTaker(memory), random.Random(4)
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
def test_a_full_ring_makes_the_run_wait_or_drops_and_counts(on_full: str, tmp_path: Path) -> None:
    with fleet(300) as sim:
        recording = sim.record(tmp_path / "run.mcap", rate=None, on_full=on_full)
        process = writing_process()
        if on_full == "drop":
            # As slow as can be.
            os.kill(process, signal.SIGSTOP)
        # Twice what fits into the ring.
        while sim.step_count < 900:
            sim.step_once()
        if on_full == "drop":
            assert recording.dropped > 300
            os.kill(process, signal.SIGCONT)
        dropped = recording.dropped
        recording.close()
    assert (dropped == 0) == (on_full == "wait")
    with Recording(tmp_path / "run.mcap") as written:
        assert len(written.times) == 901 - recording.dropped
        assert written.times[-1] == pytest.approx(90.0) or on_full == "drop"


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
