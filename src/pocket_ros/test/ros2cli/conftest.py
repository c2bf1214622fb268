"""The `ros2` command as a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
RUN = "import sys; from pocket_ros.ros2cli.main import main; sys.exit(main())"


def command(*words: object) -> list[str]:
    return [sys.executable, "-u", "-c", RUN, *map(str, words)]


@pytest.fixture
def ros2() -> Run:
    """Runs `ros2` with words; what it printed and how it ended."""

    def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*words), capture_output=True, text=True, timeout=60, **options)

    return run


@pytest.fixture
def ros2_process() -> Any:
    """Starts `ros2` with words; ended after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, **options: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Robot:
    """A node with some of everything, in a process of its own."""

    def __init__(self) -> None:
        program = Path(__file__).parents[1] / "programs" / "robot.py"
        self.process = subprocess.Popen([sys.executable, "-u", program], stdout=subprocess.PIPE, text=True)
        self.wait_for("ready")

    def wait_for(self, start: str) -> str:
        """The next line it prints that starts like this."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(start):
                return line.strip()
        raise AssertionError(f"the program ended without '{start}'")


@pytest.fixture(scope="module")
def robot() -> Iterator[Robot]:
    """One robot for all tests of a module."""
    found = Robot()
    yield found
    found.process.kill()
    found.process.communicate()
