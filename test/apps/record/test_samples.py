"""Samples on their way to the process that writes: what changed since the last one, bit by bit."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.kernels import is_usable
from fleet_sim.world.snapshot import Snapshot

pytest.importorskip("mcap")
pytest.importorskip("rosbags")
from fleet_sim.apps.record import recorder as writing
from fleet_sim.apps.record.recording import Recording
from fleet_sim.apps.record.samples import SampleGiver, SampleTaker

needs_kernels = pytest.mark.skipif(not is_usable(), reason="numba is not installed")
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
STRANGE = np.array([0.0, -0.0, np.nan, -np.nan, 5e-324, 1.0, np.inf])
"""Numbers of which some are equal with other bits, or are not equal to themselves."""
FIELDS = ("positions", "orientations", "velocities", "angular_velocities", "carriers", "modes", "busy_mask", "blockers")


@pytest.fixture(params=[pytest.param(True, marks=needs_kernels), False], ids=["kernels", "arrays"])
def with_kernels(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def fleet(robots: int, compiled_code: str = "auto") -> fs.MultiRobotSimulationCore:
    params = fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, monitor=False, compiled_code=compiled_code)
    sim = fs.MultiRobotSimulationCore(params)
    for number in range(robots):
        pose = fs.Pose.from_xyz(0.5 * (number % 40), 0.5 * (number // 40), 0.1)
        robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, pose, name=f"robot_{number}"))
        if number % 3:
            robot.set_velocity(vx=0.1, wz=0.5)
    return sim


def assert_same(one: Snapshot, other: Snapshot) -> None:
    for name in FIELDS:
        # By their bits: zeros have signs.
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


def test_samples_come_out_bit_for_bit(with_kernels: bool) -> None:
    numbers = np.random.default_rng(5)
    with fleet(50) as sim:
        giver, taker, read = SampleGiver(), SampleTaker(), []
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
    with fleet(300) as sim:
        giver = SampleGiver()
        lengths = []
        for _ in range(3):
            sim.step_once()
            state, _, _ = sim.snapshots.look()
            place = memoryview(bytearray(giver.longest(state)))
            lengths.append(giver.write(place, 0, 0, 0.0, state, with_kernels=True))
        assert lengths[0] == giver.longest(state)
        assert lengths[1] == lengths[2] < lengths[0] / 3


def test_a_recording_is_the_same_with_and_without_kernels(with_kernels: bool, tmp_path: Path) -> None:
    true = []
    with fleet(120, "always" if with_kernels else "never") as sim, sim.record(tmp_path / "run.mcap", rate=None):
        for step in range(30):
            # Others have their rows and indices from then on.
            if step == 10:
                sim.remove_object(sim.get_object("robot_3"))
            if step == 20:
                sim.spawn(fs.AgentSpawnParams(BOX, BOX, name="late"))
            sim.step_once()
            true.append(sim.get_snapshot())
    with Recording(tmp_path / "run.mcap") as recording:
        for snapshot in true:
            read = recording.snapshot_at(snapshot.time)
            assert read.names == snapshot.names
            for name in ("positions", "orientations"):
                np.testing.assert_array_equal(getattr(read, name), getattr(snapshot, name), name)
            # They are recorded in the frame of the base.
            np.testing.assert_allclose(read.velocities, snapshot.velocities, atol=1e-6)
            np.testing.assert_allclose(read.angular_velocities, snapshot.angular_velocities, atol=1e-6)


def test_worlds_without_entities_are_recorded(with_kernels: bool, tmp_path: Path) -> None:
    with fleet(0, "always" if with_kernels else "never") as sim, sim.record(tmp_path / "run.mcap", rate=None):
        sim.step_once()
        sim.spawn(fs.AgentSpawnParams(BOX, BOX, name="late"))
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
    with fleet(600, "always") as sim:
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
