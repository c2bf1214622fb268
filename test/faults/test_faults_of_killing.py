"""A run that is killed while it records, saves its state and shows itself: what was written is there, and no more."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.apps.record.mcap_index import repair
from fleet_sim.apps.record.recording import Recording

pytest.importorskip("viser", reason="viser is not installed")

RUNNING = """
import sys, time
import fleet_sim as fs
recording, state, port = sys.argv[1:]
box = {"shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}}
robots = [{"name": "cart", "grid": {"count": 50, "spacing": [2, 2, 0]}, "controller": {"type": "random_walk"}}]
settings = {"gui": False, "timestep": 0.05, "target_rtf": 1}
with fs.MultiRobotSimulationCore.from_dict({"simulation": settings, "robots": robots}) as sim:
    sim.view.show(port=int(port), browser=False)
    sim.record(recording)
    hashes = {}
    def save(sim):
        hashes[sim.step_count] = sim.state_hash()
        sim.save_state(state)
        print(sim.step_count, sim.state_hash(), flush=True)
    while True:
        sim.run_simulation(0.1)
        save(sim)
"""


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def readable(part: Path) -> list[float]:
    """Return the times of the samples that are whole by now."""
    if not part.exists():
        return []
    with contextlib.suppress(fs.InvalidValueError), Recording(part) as recording:
        return list(recording.times)
    return []


def killed(arguments: list[str], part: Path, with_writer: bool) -> tuple[dict[str, str], list[float]]:
    """Kill a run once some of its recording can be read; return its hashes by step, and the times that could be."""
    with subprocess.Popen([sys.executable, "-c", RUNNING, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        hashes = dict(process.stdout.readline().split() for _ in range(15))
        while len(before := readable(part)) < 5:
            hashes.update([process.stdout.readline().split()])
        writers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        os.kill(process.pid, signal.SIGKILL)
        for writer in writers if with_writer else []:
            os.kill(int(writer), signal.SIGKILL)
        # At its end when the process that writes has ended, too: it has the same output.
        hashes.update(line.split() for line in process.stdout.read().splitlines() if len(line.split()) == 2)
    return hashes, before


@pytest.mark.slow
@pytest.mark.parametrize("with_writer", [False, True], ids=["the run", "the run and the process that writes"])
def test_whatever_is_killed_leaves_what_it_wrote(with_writer: bool, tmp_path: Path) -> None:
    path, state, port = tmp_path / "run.mcap", tmp_path / "run.state", free_port()
    part = tmp_path / "run.mcap.part"
    hashes, before = killed([str(path), str(state), str(port)], part, with_writer)

    # The recording: all that could be read before, one sample after the other, under no name of a whole one.
    assert not path.exists()
    after = readable(part)
    assert after[: len(before)] == before
    assert after == pytest.approx([0.1 * number for number in range(len(after))])
    if not with_writer:
        assert after[-1] > 0.05 * max(map(int, hashes)) - 0.2
    repair(part, path)
    with Recording(path) as whole:
        assert whole.whole
        assert list(whole.times) == after

    # The state: the last one that was whole, or the one that was being written.
    with fs.MultiRobotSimulationCore.from_state(state, target_rtf=0.0) as sim:
        assert sim.state_hash() == hashes.get(str(sim.step_count), sim.state_hash())
        assert sim.step_count >= max(map(int, hashes)) - 2
    # What was being written is hidden, and is refused where it is not whole.
    for file in tmp_path.glob(".*.state"):
        with contextlib.suppress(fs.StateFileError), fs.MultiRobotSimulationCore.from_state(file) as sim:
            assert sim.state_hash() == hashes.get(str(sim.step_count), sim.state_hash())

    # The view: its port is free for the next one.
    with socket.socket() as next_one:
        next_one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        next_one.bind(("127.0.0.1", port))
