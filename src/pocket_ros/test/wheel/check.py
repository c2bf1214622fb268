"""Installs a wheel into an environment of its own and runs what its README shows: no extras, no tools.

Usage: `python test/wheel/check.py dist/pocket_ros-*.whl`. It is a program and no test, because it asks an
index for the dependencies. Exits with 1 and says what failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "programs"


def run(*command: str | Path) -> str:
    """What a command prints. Ends the program with what it wrote where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tempfile.gettempdir())
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_talker_and_listener(binaries: Path) -> None:
    """One process hears the other, and `ros2` hears both."""
    talker = subprocess.Popen([binaries / "python", PROGRAMS / "talker.py"], stdout=subprocess.DEVNULL)
    listener = subprocess.Popen(
        [binaries / "python", PROGRAMS / "listener.py"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert listener.stdout is not None
        lines = iter(listener.stdout.readline, "")
        heard = next((line for line in lines if line.startswith("heard hello")), None)
        if heard is None:
            sys.exit("the listener ended and has heard nothing")
        print(f"listener: {heard.strip()}")
        print(f"ros2 topic echo: {run(binaries / 'ros2', 'topic', 'echo', '--once', '/chatter').split()}")
    finally:
        for process in (talker, listener):
            process.kill()
            process.wait()


def main() -> None:
    wheel = Path(sys.argv[1]).resolve()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(50 + os.getpid() % 50))
    with tempfile.TemporaryDirectory(prefix="pocket_ros_wheel_") as folder:
        venv.create(folder, with_pip=True)
        binaries = Path(folder) / "bin"
        quiet = ("--quiet", "--disable-pip-version-check")
        run(binaries / "python", "-m", "pip", "install", *quiet, wheel)
        print(run(binaries / "ros2", "--help").splitlines()[0])
        # The wheel alone: recordings need the extra, and the error says so.
        bag = subprocess.run([binaries / "ros2", "bag", "info", "x"], capture_output=True, text=True)
        if bag.returncode != 1 or "pocket_ros[bag]" not in bag.stderr:
            sys.exit(f"ros2 bag without its extra: {bag.stderr}")
        print(bag.stderr.strip())
        check_talker_and_listener(binaries)


if __name__ == "__main__":
    main()
