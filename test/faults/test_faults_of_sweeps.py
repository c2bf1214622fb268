"""Sweeps on a full disk and on a cluster whose machines die: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.apps.sweeps import load_sweep, read_table, run_sweep
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


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head of Ray that does no work, for machines to be added: each is processes of its own."""
    from ray.cluster_utils import Cluster

    # How long Ray waits for a head that is gone: a minute otherwise.
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "5")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        yield made
    finally:
        made.shutdown()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_machines_of_a_cluster_die_and_then_its_head(folder: Path, cluster: Any) -> None:
    from ray.cluster_utils import Cluster

    run_sweep(load_sweep("sweep.yaml"), "whole.csv", LocalExecutor(2))
    machines = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    journal = Path("t.runs.jsonl")
    given = command("--out", "t.csv", "--address", cluster.address)
    process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: len(runs_in(journal)) >= 3, process)
    # As if its power were cut; the other one goes on with what it did.
    cluster.remove_node(machines[0], allow_graceful=False)
    made = len(runs_in(journal))
    until(lambda: len(runs_in(journal)) >= made + 3, process)
    # The head, too: the sweep cannot go on, and says so or is ended by Ray.
    cluster.shutdown()
    try:
        out, error = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode != 0, out
    known = runs_in(journal)
    assert 6 <= len(known) < 16 and len(set(known)) == len(known)
    again = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    try:
        resumed = command("--out", "t.csv", "--address", again.address, "--resume")
        done = subprocess.run(resumed, capture_output=True, text=True)
    finally:
        again.shutdown()
    assert done.returncode == 0, done.stderr + error
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert runs_in(journal)[: len(known)] == known and sorted(runs_in(journal)) == list(range(16))
    assert set(read_table("t.csv").columns["status"]) == {"done"}
    assert os.listdir(folder) and not list(folder.glob(".t*"))


@pytest.fixture
def guarded_head(tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A head begun by `ray start` that asks for a token: its address, and the variables that hold the token."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
    ray = "from ray.scripts.scripts import main; main()"
    options = ["--head", "--block", "--port", "0", "--num-cpus", "2", "--include-dashboard=false"]
    with (tmp_path / "head.log").open("w+") as log:
        head = subprocess.Popen(
            [sys.executable, "-c", ray, "start", *options, "--disable-usage-stats"],
            env={**os.environ, **token},
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            told: list[str] = []

            def found() -> bool:
                told[:] = re.findall(r"--address='([\d.]+:\d+)'", (tmp_path / "head.log").read_text())
                return bool(told)

            until(found, head)
            yield told[0], token
        finally:
            # With --block it ends what it has begun, and nothing of other clusters.
            head.terminate()
            head.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_a_cluster_that_asks_for_a_token(folder: Path, guarded_head: tuple[str, dict[str, str]]) -> None:
    address, token = guarded_head
    given = command("--out", "t.csv", "--address", address)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    refused = subprocess.run(given, env=plain, capture_output=True, text=True)
    assert refused.returncode == 1 and "set RAY_AUTH_MODE=token" in refused.stderr
    assert not Path("t.runs.jsonl").exists()
    done = subprocess.run(given, env={**plain, **token}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run_sweep(load_sweep("sweep.yaml"), "whole.csv", LocalExecutor(2))
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()
