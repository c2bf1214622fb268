"""Start the node and end it by Ctrl-C, again and again: `python test/soak/ends.py [--runs 20] [--robots 5 300 1000]`.

Each run is interrupted at a random moment, from the first line of the program on to some seconds after it says that it
runs; `--seed` chooses the moments. A run is well if the exit code is 0, nothing is printed that should not be there,
and the end takes at most `--seconds`: of real time or, where other programs keep the machine busy, of processor time
and waits.
The exit code is the number of runs that are not.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120.0
RUNS = "press Ctrl-C to stop"
BEFORE = 0.3
"""Share of the runs that are interrupted before the node says that it runs."""
IMPORTED = 0.5
"""In s of processor time: the interpreter itself starts until then, and Ctrl-C means nothing else than to Python."""
WAITS = 0.5
"""In s: what an end on an idle machine takes besides its processor time."""
WRONG = re.compile(r"Traceback|Error|[Ff]atal|terminate|broken off|Exception ignored|core dumped")


class End(NamedTuple):
    """How a run has ended: its exit code, seconds of real time and of its processor time, and its output."""

    code: int
    real: float
    own: float
    output: str

    def fault(self, seconds: float) -> str:
        """Return what is wrong with it; empty if nothing is."""
        if self.code != 0:
            return f"code {self.code}"
        found = WRONG.search(self.output)
        if found:
            return f"prints {found[0]!r}"
        return "takes too long" if min(self.real, self.own + WAITS) > seconds else ""


def processor_time(process: int) -> float:
    """Return the processor time of a process in s; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def run(robots: int, *, runs_for: float | None, begins_for: float) -> End:
    """Start a node and interrupt it, `runs_for` s after it runs, or in its start after `begins_for` s of its own."""
    command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", f"robots:={robots}"]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            log.seek(0)
            if runs_for is None and processor_time(process.pid) > begins_for:
                break
            if RUNS in log.read():
                time.sleep(runs_for or 0.0)
                break
            time.sleep(0.01)
        own, begin = processor_time(process.pid), time.monotonic()
        last = own
        process.send_signal(signal.SIGINT)
        while process.poll() is None and time.monotonic() < begin + PATIENCE:
            last = max(last, processor_time(process.pid))
            time.sleep(0.01)
        real = time.monotonic() - begin
        process.kill()
        code = process.wait()
        log.seek(0)
        return End(code, real, last - own, log.read())


def main() -> int:
    """Run the loop; returns how many runs were not well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="for each size")
    parser.add_argument("--robots", type=int, nargs="+", default=[5, 300, 1000])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    wrong = 0
    for robots in arguments.robots:
        for _ in range(arguments.runs):
            before = chance.random() < BEFORE
            moments = chance.uniform(0.0, 6.0), chance.uniform(IMPORTED, 3.0)
            end = run(robots, runs_for=None if before else moments[0], begins_for=moments[1])
            fault = end.fault(arguments.seconds)
            wrong += bool(fault)
            when = f"{moments[1]:.1f} s into its start" if before else f"after {moments[0]:.1f} s"
            print(f"{robots:5} robots, {when}: {end.real:.1f} s, {end.own:.1f} s of its own {fault}", flush=True)
            if fault:
                print(end.output[-4000:], flush=True)
    print(f"{wrong} of {arguments.runs * len(arguments.robots)} were not well")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
