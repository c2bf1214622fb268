"""Processes and contexts for the tests: a domain of its own, and no traffic beyond this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"

HAS_DDS = find_spec("cyclonedds") is not None
"""Its wheels end with Python 3.13. Without it nothing here can run, and that is said, not failed."""

# A shell lets tests in the background ignore Ctrl-C, and they would hand that down to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect() -> bool | None:
    return None if HAS_DDS else True


def pytest_report_header() -> str | None:
    return (
        None
        if HAS_DDS
        else "cyclonedds is not installed (it has no wheel for Python 3.14): nothing is tested"
    )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not HAS_DDS and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


# The ports of higher domains are those that the system hands out by itself.
DOMAINS = range(50, 100)
PORT = 28600
"""Whoever holds this port and the number of a domain more holds the domain: files would lie in folders of
temporary files, of which several test runs may each have their own."""
_held: list[socket.socket] = []


def reserve_domain() -> int:
    """A domain no other test run on this machine is in; it is kept until this one ends."""
    first = os.getpid() % len(DOMAINS)
    for domain in [*DOMAINS[first:], *DOMAINS[:first]]:
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", PORT + domain))
        except OSError:
            holder.close()
            continue
        _held.append(holder)
        return domain
    raise RuntimeError(f"all domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use by other test runs")


os.environ["ROS_DOMAIN_ID"] = str(reserve_domain())
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
_log_folder = tempfile.TemporaryDirectory(prefix="pocket_ros_test_log_")
os.environ["ROS_LOG_DIR"] = _log_folder.name
os.environ.pop("ROS_LOCALHOST_ONLY", None)


class Program:
    """A program of `test/programs` that runs as a process of its own."""

    def __init__(self, name: str, *arguments: str) -> None:
        command = [sys.executable, "-u", str(PROGRAMS / f"{name}.py"), *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=PROGRAMS,
        )

    def wait_for(self, start: str) -> str:
        """The first line that starts like this; fails when the program ends without it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(start):
                return line.strip()
        raise AssertionError(f"the program ended without '{start}': {self.errors()}")

    def say(self, line: str) -> None:
        """Write a line to its input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit code; fails when that takes longer than it ever should."""
        return self.process.wait(20)

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def running_programs() -> Iterator[Callable[..., Program]]:
    running: list[Program] = []

    def run(name: str, *arguments: str) -> Program:
        running.append(Program(name, *arguments))
        return running[-1]

    yield run
    for program in running:
        program.stop()


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    """Starts programs, and ends them after the test."""
    yield from running_programs()


@pytest.fixture(scope="module")
def start_once() -> Iterator[Callable[..., Program]]:
    """Starts programs, and ends them after the last test of the module."""
    yield from running_programs()


@pytest.fixture(scope="module")
def other_domain() -> int:
    """A domain in which nothing of this process is yet."""
    return reserve_domain()


@pytest.fixture
def ros(start: Callable[..., Program]) -> Iterator[None]:
    """An initialised default context.

    It ends before the programs of the test do: closing would wait for the answers of those that were killed.
    """
    import rclpy

    rclpy.init(args=[])
    yield
    rclpy.try_shutdown()
