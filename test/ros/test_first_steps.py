"""What the node and its launch files say to who begins."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fleet_sim.ros.launching import NS, lines_to_try, misspelled
from fleet_sim.ros.main import unknown_parameters


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


def test_parameters_and_arguments_that_do_not_exist_are_named() -> None:
    known = {"config", "robots", "use_sim_time"}.__contains__
    arguments = [
        "--ros-args",
        "-p",
        "configg:=a.yaml",
        "-p",
        "robots:=3",
        "--param",
        "fleet_sim:rbots:=1",
        "-r",
        "__ns:=/a",
    ]
    assert unknown_parameters(arguments, known) == ["configg", "rbots"]
    assert misspelled(["robts", "rtf", "map_of_another_file"], ["robots", "rtf"]) == [
        "there is no argument 'robts'; did you mean 'robots'?"
    ]


def test_commands_to_try_name_only_robots_that_are_spawned() -> None:
    lines = ["try:", f"echo {NS}/robot_0/odom", f"echo {NS}/robot_1/odom", f"call {NS}/sim/pause"]
    everything = ["try:", "echo /left/robot_0/odom", "echo /left/robot_1/odom", "call /left/sim/pause"]
    assert lines_to_try(lines, "/left", "5") == everything
    assert lines_to_try(lines, "", "1") == ["try:", "echo /robot_0/odom", "call /sim/pause"]
    assert lines_to_try(lines, "", "0") == ["try:", "call /sim/pause"]
    assert len(lines_to_try(lines, "", "")) == 4


def test_the_node_finds_code_in_the_folder_where_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('mine was imported')\nfrom fleet_sim import AgentController as Circles\n")
    robot = "{name: own, pose: [0, 0, 0], shape: {shape_type: sphere, radius: 0.2}, controller: {type: 'mine:Circles'}}"
    (tmp_path / "s.yaml").write_text(f"simulation: {{gui: false, duration: 0.1}}\nrobots: [{robot}]\n")
    # The script of an installation, unlike `python -m`, has its own folder on the path and not the working one.
    code = "import sys; sys.path.pop(0); from fleet_sim.ros.main import main; sys.exit(main())"
    program = [sys.executable, "-c", code, "--ros-args", "-p", "config:=s.yaml"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert "mine was imported" in done.stdout, done.stderr
    assert "cannot be imported" not in done.stderr


def test_the_node_says_that_and_why_it_ends_by_itself(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("simulation: {gui: false, duration: 0.5, timestep: 0.1, target_rtf: 0}\n")
    program = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", f"config:={tmp_path / 's.yaml'}"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    told = done.stdout + done.stderr
    assert "the run ends at 0.5 s (simulation.duration of the scenario; 0: only Ctrl-C ends it)" in told
    assert "the simulation.duration of the scenario is over" in told


def rclpy_is_of_pocket_ros() -> bool:
    """Whether rclpy is pocket_ros'; pocket_ros may be installed beside a full ROS 2, which then comes first."""
    spec = find_spec("rclpy")
    return spec is not None and "pocket_ros" in str(spec.origin)


@pytest.mark.skipif(not rclpy_is_of_pocket_ros(), reason="a full ROS 2 has security")
def test_security_that_pocket_ros_has_not_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    program = [sys.executable, "-m", "fleet_sim.ros.main"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("fleet_sim_node: error: ROS_SECURITY_ENABLE=true: ")
    assert "Traceback" not in done.stderr
