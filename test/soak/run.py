"""A soak: fleet_sim under steady load for as long as asked. `make soak ARGS="--minutes 120"`

A node with clients of every kind (soak_ros.py), and the library without ROS (soak_library.py), each in a process of its
own, throttled to a part of a core. Every ten seconds the figures of all processes go into `soak.csv`; at the end a
table, a plot (`soak.png`) and the verdict: exit code 0 where memory, files, threads and the time of a step stay as they
are and nothing was lost, else 1. What went wrong in between is in `*.log` beside.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from soak_figures import Row, Table, use_of
from soak_verdict import report

HERE = Path(__file__).parent
PERIOD = 10.0
"""Time between two rows of a process, in s."""

PATIENCE = 20.0
"""The longest that a process may take to end, in s."""

NODE = ["-m", "fleet_sim.ros.main", "--ros-args", "-p", f"config:={HERE / 'fleet.yaml'}"]
ROS_PARTS = {"node": NODE, "client": [str(HERE / "soak_ros.py")]}
PARTS = {"library": [str(HERE / "soak_library.py")]}


class Told:
    """What a process has said about itself, or another about it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._step_times: list[float] = []

    def hear(self, line: dict[str, Any]) -> None:
        """Take a line of a Tally."""
        self.counts = line
        if line["step_ms"] is not None:
            self._step_times.append(line["step_ms"])

    def take_step_ms(self) -> float:
        """Return the median time of a step since the last call, nan if there was none."""
        times, self._step_times = self._step_times, []
        return median(times) if times else math.nan


class Part:
    """A process of the soak. What it says is printed to a log; lines of JSON are kept, by part."""

    def __init__(self, name: str, arguments: Sequence[str], folder: Path, told: dict[str, Told]) -> None:
        self.name = name
        self._told = told
        path = os.pathsep.join(filter(None, (str(HERE.parent / "support"), os.environ.get("PYTHONPATH"))))
        with (folder / f"{name}.log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-u", *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
            )
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                told = json.loads(line)
                self._told[told["part"]].hear(told)

    def row(self, seconds: float) -> Row:
        """Return its figures; raises OSError if it has ended."""
        use, told = use_of(self.process.pid), self._told[self.name]
        counts = (told.counts.get(count, 0) for count in ("steps", "operations", "refused", "lost"))
        return Row(seconds, self.name, use.memory, use.files, use.threads, use.processor, told.take_step_ms(), *counts)

    def end(self) -> int:
        """End it as a user would; return its exit code, -9 where it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def soak(minutes: float, folder: Path, programs: dict[str, list[str]]) -> list[str]:
    """Run the parts and write their figures; return what went wrong."""
    told = {name: Told() for name in programs}
    parts = [Part(name, arguments, folder, told) for name, arguments in programs.items()]
    faults: list[str] = []
    begin = time.monotonic()
    try:
        with (folder / "soak.csv").open("w", newline="") as file:
            table = Table(file)
            for beat in range(1, math.ceil(60.0 * minutes / PERIOD) + 1):
                time.sleep(max(0.0, begin + beat * PERIOD - time.monotonic()))
                ended = [part.name for part in parts if part.process.poll() is not None]
                if ended:
                    faults += [f"{name} ended too early, see {name}.log" for name in ended]
                    break
                try:
                    for part in parts:
                        table.add(part.row(time.monotonic() - begin))
                except OSError:
                    # One has ended since it was asked.
                    faults.append(f"{part.name} ended too early, see {part.name}.log")
                    break
    except KeyboardInterrupt:
        faults.append("interrupted")
    finally:
        # Clients first: a node that ends gives them other answers than they wait for.
        codes = {part.name: part.end() for part in reversed(parts)}
    return faults + [f"{name} ended with code {code}" for name, code in codes.items() if code]


def main() -> int:
    """Return 0 if everything stayed as it was."""
    parser = argparse.ArgumentParser(description="Soak fleet_sim.")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (the first ten are not judged)")
    parser.add_argument("--folder", type=Path, default=Path("soak"), help="where figures, plot and logs go")
    parser.add_argument("--no-ros", action="store_true", help="only the library")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    with_ros = not args.no_ros and find_spec("rclpy") is not None
    if not with_ros and not args.no_ros:
        print("there is no rclpy here: only the library is soaked")
    # As Ctrl-C, so that the figures are judged in any case.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    faults = soak(args.minutes, args.folder, {**ROS_PARTS, **PARTS} if with_ros else PARTS)
    faults += report(args.folder / "soak.csv")
    print("\n".join(faults) or "flat: nothing grows")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
