"""The fleet manager of the examples drives a site through ROS, as a process beside the node."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from depot import MAP, ROBOT
from example import EXAMPLES
from node_program import running


def managed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the manager in the depot until its orders have ended."""
    command = [sys.executable, str(EXAMPLES / "order_manager.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300.0, check=False)


@pytest.mark.slow
def test_orders_are_done_cancelled_when_late_and_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "depot.yaml").write_text(MAP)
    content = {
        "simulation": {"timestep": 0.1, "target_rtf": 20.0},
        "site": "depot.yaml",
        "robots": [{**ROBOT, "pose": [5.5, 3.5, 0.15]}],
        "orders": {},
    }
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(yaml.safe_dump(content))
    with running(tmp_path / "node.log", "-p", f"config:={scenario}"):
        # One robot for three orders at a time: it cannot come to all of them in 3 s.
        run = managed(
            "--from", "shelf_a", "shelf_b", "--to", "dock", "--orders", "6", "--at-once", "3", "--patience", "3"
        )
        assert run.returncode == 0, run.stderr
        outcomes = {word: int(count) for count, word in re.findall(r"(\d+) (done|cancelled)", run.stdout)}
        assert sum(outcomes.values()) == 6 and outcomes["done"] >= 1 and outcomes["cancelled"] >= 1, run.stdout

        run = managed("--from", "shelf_a", "--to", "dok", "--orders", "1", "--name", "more")
        assert run.returncode == 1
        assert "1 refused" in run.stdout and "Did you mean 'dock'" in run.stdout + run.stderr
