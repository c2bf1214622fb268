"""What the node and its launch files say to who begins."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fleet_sim.ros.launching import NS, lines_to_try


@pytest.mark.parametrize(
    ("given", "reason"), [("robots:=abc", "expecting type 'INTEGER'"), ("robots:=-1", "at least 0")]
)
def test_a_wrong_parameter_is_one_line_and_no_traceback(given: str, reason: str) -> None:
    program = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", given]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    (line,) = [text for text in done.stderr.splitlines() if "error" in text]
    assert line.startswith("fleet_sim_node: error: ")
    assert reason in line
    assert "Traceback" not in done.stderr


def test_commands_to_try_name_only_robots_that_are_spawned() -> None:
    lines = ["try:", f"echo {NS}/robot_0/odom", f"echo {NS}/robot_1/odom", f"call {NS}/sim/pause"]
    everything = ["try:", "echo /left/robot_0/odom", "echo /left/robot_1/odom", "call /left/sim/pause"]
    assert lines_to_try(lines, "/left", "5") == everything
    assert lines_to_try(lines, "", "1") == ["try:", "echo /robot_0/odom", "call /sim/pause"]
    assert lines_to_try(lines, "", "0") == ["try:", "call /sim/pause"]
    assert len(lines_to_try(lines, "", "")) == 4
