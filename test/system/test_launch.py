"""The launch file, as a user starts it, and its launch test."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from node_program import launched, ros_command

from fleet_sim_msgs.msg import FleetState

ROOT = Path(__file__).parents[2]


def test_ros2_launch_brings_a_fleet_up_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    log = tmp_path / "launch.log"
    with launched(log, "fleet.launch.py", "robots:=2", "rtf:=2", "namespace:=left") as client:
        states = client.listen(FleetState, "/left/fleet/states")
        client.until(lambda: states and len(states[-1].robots) == 2, "the fleet")
    assert "process has finished cleanly" in log.read_text()
    assert "ros2 action send_goal --feedback /left/robot_1/move_to" in log.read_text()


def launch_to_its_end(*arguments: str, prefixes: Sequence[str] = ()) -> tuple[int, str]:
    """Run ros2 launch until it ends by itself; return its exit code and its output."""
    path = os.pathsep.join([*prefixes, *filter(None, [os.environ.get("AMENT_PREFIX_PATH")])])
    command = [ros_command("ros2"), "launch", "fleet_sim", *arguments]
    environment = {**os.environ, "AMENT_PREFIX_PATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)
    print(done.stdout, done.stderr)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [["rviz.launch.py"], ["fleet.launch.py", "rviz:=true"]])
@pytest.mark.skipif(shutil.which("rviz2") is not None, reason="RViz is installed here")
def test_without_rviz_the_launch_says_so(arguments: list[str]) -> None:
    code, output = launch_to_its_end(*arguments)
    assert code != 0
    assert "rviz2 is not installed here" in output


def test_a_launch_whose_node_ends_with_an_error_ends_with_one() -> None:
    code, output = launch_to_its_end("fleet.launch.py", "config:=nowhere.yaml")
    assert code != 0
    assert "nowhere.yaml" in output and "ended with exit code 1" in output


def pretended_rviz(prefix: Path) -> None:
    """Write a package called rviz2 whose program tells what it was started with, and ends."""
    program = prefix / "lib" / "rviz2" / "rviz2"
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / "rviz2"
    for path, text in ((program, '#!/bin/sh\necho "RVIZ $@"\n'), (marker, "")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    program.chmod(0o755)


def test_rviz_is_started_beside_a_running_simulation(tmp_path: Path) -> None:
    pretended_rviz(tmp_path)
    arguments = ["rviz.launch.py", "robot:=robot_3", "namespace:=left"]
    code, output = launch_to_its_end(*arguments, prefixes=[str(tmp_path)])
    assert code == 0
    assert "2D Goal Pose, then press and drag on the ground: robot_3 drives there" in output
    started = next(line for line in output.splitlines() if "RVIZ" in line)
    assert "fleet.rviz" in started
    for name in ("/clock", "/fleet/markers", "/robot_3/plan", "/robot_3/goal_pose"):
        assert f":=/left{name}" in started


@pytest.mark.parametrize("name", ["arm", "bin_picking", "fleet", "mobile_manipulator", "rmf", "sensors", "warehouse"])
@pytest.mark.slow
def test_rviz_shows_only_topics_that_are_there(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended_rviz(tmp_path / "ros")
    known = os.environ.get("AMENT_PREFIX_PATH")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(filter(None, [str(tmp_path / "ros"), known])))
    log = tmp_path / "launch.log"
    with launched(log, f"{name}.launch.py", "rviz:=true") as client:
        # The arm in front of bins reads its meshes and compiles code first: a busy machine takes more than a minute.
        client.patience = 180.0
        # Both: a node that is ended while it is still imported has no handler of the signal yet.
        client.until(lambda: "press Ctrl-C to stop" in log.read_text(), "the node")
        client.until(lambda: re.search(r"RVIZ .*\n", log.read_text()), "RViz")
        started = re.search(r"RVIZ (.*)", log.read_text())
        assert started is not None
        moved = dict(word.split(":=") for word in started[1].split() if word.startswith("/") and ":=" in word)
        named = re.findall(r"Value: (/\S+)", Path(started[1].split()[1]).read_text())
        wanted = {moved.get(topic, topic) for topic in named}

        def missing() -> set[str]:
            return wanted - {topic for topic, _ in client.node.get_topic_names_and_types()}

        client.until(lambda: not missing(), f"that all of {sorted(wanted)} are there")


def test_the_launch_test_passes() -> None:
    test = ROOT / "test" / "system" / "fleet_bring_up.py"
    command = [ros_command("launch_test"), str(test)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    print(done.stdout, done.stderr)
    assert done.returncode == 0


@pytest.mark.slow
def test_pytest_collects_the_tests_beside_the_plugins_of_ros() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "test/ros", "test/system"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    print(done.stdout[-2000:], done.stderr)
    assert done.returncode == 0


@pytest.mark.parametrize("file", sorted(ROOT.glob("launch/*.launch.py")), ids=lambda file: file.name)
def test_every_launch_file_lists_its_arguments_and_can_show_rviz(file: Path) -> None:
    description = runpy.run_path(str(file))["generate_launch_description"]()
    arguments = {argument.name for argument in description.get_launch_arguments()}
    assert arguments and ("rviz" in arguments or file.name == "rviz.launch.py")


def test_a_launch_file_shows_its_arguments() -> None:
    code, output = launch_to_its_end("fleet.launch.py", "--show-args")
    assert code == 0 and "'rviz'" in output
