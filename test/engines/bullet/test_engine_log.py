"""What PyBullet prints: lines of our log, never text between the output of a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pybullet")

LINK = '<link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
ROBOT = f'<robot name="x">{LINK}</robot>'

PROGRAM = """
import logging, sys
import fleet_sim as fs

logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, physics=True)) as sim:
    print("before")
    for number in range(3):
        sim.bullet.loadURDF(sys.argv[1], [0, 0, 3.0 * number])
    print("after")
"""


def test_warnings_of_the_engine_are_logged_once_and_not_printed(tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(ROBOT)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(robot)], capture_output=True, text=True, check=True)
    assert done.stdout == "before\nafter\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("WARNING fleet_sim.engines.bullet PyBullet: No inertial data for link, using mass=1")
    assert line.endswith(": base")


def test_importing_the_engine_prints_nothing() -> None:
    code = "from fleet_sim.engines.bullet.client import bullet_module; bullet_module(); print('loaded')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("loaded\n", "")


TALKER = """
import sys, threading
import fleet_sim as fs

over, lines = threading.Event(), []

def talk():
    while not over.is_set():
        lines.append(f"line {len(lines)}")
        sys.stderr.write(lines[-1] + "\\n")

thread = threading.Thread(target=talk)
thread.start()
with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, physics=True)) as sim:
    for number in range(30):
        sim.bullet.loadURDF(sys.argv[1], [0, 0, 3.0 * number])
over.set()
thread.join()
print(*lines, sep="\\n")
"""


def test_what_other_threads_log_meanwhile_is_not_lost(tmp_path: Path) -> None:
    # As the greeting of the node was, which is written while the simulation loads the engine.
    robot = tmp_path / "robot.urdf"
    robot.write_text(ROBOT)
    # A file, as a pipe may take a long text in parts, with lines of others in between.
    errors = tmp_path / "errors"
    with errors.open("wb") as output:
        command = [sys.executable, "-c", TALKER, str(robot)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=output, text=True, check=True)
    text = errors.read_text()
    written = [line for line in text.splitlines() if line.startswith("line ")]
    # Some come a moment later than others that were written after them.
    assert sorted(written) == sorted(done.stdout.splitlines())
    assert "pybullet build time" not in text


def test_a_program_without_standard_output_can_load_robots(tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(ROBOT)
    program = "import sys; sys.stdout = sys.stderr = None\n" + PROGRAM.replace("print", "str")
    done = subprocess.run([sys.executable, "-c", program, str(robot)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
