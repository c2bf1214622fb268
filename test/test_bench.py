"""The benchmark runs and counts; how fast it is, nobody asserts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "bench" / "run.py"


def test_every_size_is_measured_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUN.parent))
    from plan import Plan  # the folder of the benchmark is no package

    cases = Plan((10, 20), quick=False, steps=1).compared()
    assert len(set(cases)) == 2 * 2 * 2 * 2
    assert set(Plan((10, 20), quick=True, steps=1).compared()) < set(cases)


def test_bench_measures_fleet_sim_alone_where_there_is_no_peer(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    options = ["--quick", "--robots", "30", "--steps", "3", "--rounds", "1", "--json", str(out)]
    done = subprocess.run([sys.executable, str(RUN), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not measured" in done.stdout
    entries = json.loads(out.read_text(encoding="utf-8"))
    assert {entry["simulator"] for entry in entries} == {"ours"}
    assert {entry["case"]["flush"] for entry in entries} == {"demand", "step"}
    first = entries[0]["rounds"][0]
    assert first["still_moving"] == 15
    assert sum(first["systems"].values()) > 0.0


def test_bench_says_which_measurement_failed() -> None:
    options = ["--quick", "--robots", "5", "--steps", "1", "--rounds", "1", "--peer", sys.executable]
    done = subprocess.run([sys.executable, str(RUN), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "peer.py" in done.stderr
    assert "pybullet_fleet" in done.stderr
