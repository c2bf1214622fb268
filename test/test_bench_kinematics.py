"""The benchmark of kinematics runs and counts; how fast it is, nobody asserts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench" / "kinematics.py"


def test_every_solver_is_measured_on_the_same_targets() -> None:
    pytest.importorskip("pybullet")
    command = [sys.executable, str(BENCH), "--targets", "5", "--models", "kuka_iiwa"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("kuka_iiwa, 7 axes")]
    assert [line.split("  ")[0] for line in lines] == ["kuka_iiwa, 7 axes"] * 8
    ours = [line for line in lines if "in one call" in line]
    assert len(ours) == 2
    assert all(float(line.split()[-2]) == 100.0 for line in ours)
    assert "fleet_sim, 1000 arms" in done.stdout
