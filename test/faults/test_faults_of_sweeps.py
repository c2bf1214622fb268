"""Sweeps on a full disk: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.apps.sweeps import load_sweep, run_sweep
from fleet_sim.base.parallel import LocalExecutor

ROBOT = "{name: a, shape: {shape_type: box}, controller: {type: random_walk, radius: 3.0, max_linear_vel: 1.0}}"
SWEEP = f"""
scenario: {{simulation: {{gui: false, monitor: false, timestep: 0.1}}, robots: [{ROBOT}]}}
duration: 1
seeds: 1-16
measure: [slow_measure:late, simulated_s, state_hash]
"""
MEASURE = """
import time

def late(sim):
    # Not at the beginning of a run, where it is tried.
    if sim.sim_time > 0.0:
        time.sleep(0.3)
    return sim.sim_time
"""
PATIENCE = 240.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sweep and its measure, and the table as it must be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("slow_measure.py").write_text(MEASURE)
    Path("sweep.yaml").write_text(SWEEP)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fleet_sim.apps.cli.main", "sweep", "sweep.yaml", *arguments]


def runs_in(journal: Path) -> list[int]:
    """Return the numbers of the runs in a journal, in their order."""
    lines = journal.read_bytes().splitlines()[1:] if journal.exists() else []
    return [int(json.loads(line)["run"]) for line in lines]


def until(condition: Callable[[], Any], process: subprocess.Popen[str]) -> None:
    """Wait for something that a process must do before it ends."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_disk_that_is_full_ends_a_sweep_which_goes_on_later(folder: Path) -> None:
    run_sweep(load_sweep("sweep.yaml"), "whole.csv", LocalExecutor(2))
    # Room for the head of the journal and some of its lines.
    room = 600
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))  # noqa: E731
    # Byte code would be kept cut off, too, and could not be loaded any more.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    line_given = command("--out", "t.csv", "--processes", "2")
    done = subprocess.run(line_given, preexec_fn=limit, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert "t.runs.jsonl" in line and "Traceback" not in done.stderr
    known = Path("t.runs.jsonl").read_bytes()
    assert len(known) <= room
    again = subprocess.run(command("--out", "t.csv", "--resume"), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()
    # What had been written is kept; a line that was cut off is made anew.
    whole = known[: known.rfind(b"\n") + 1]
    assert Path("t.runs.jsonl").read_bytes().startswith(whole)
    assert sorted(runs_in(Path("t.runs.jsonl"))) == list(range(16))
