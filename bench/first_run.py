"""Measure how long one waits for shipped scenarios on a machine without any cache, and in the second run.

Each run is a new process, the first with an empty cache. Figures are seconds of processor time of all its processes,
including that which compiles: until Python has started and the scenario is loaded, until the first step is done, until
`--seconds` are simulated, and in all.

Run: python bench/first_run.py [SCENARIO ...] [--seconds 5]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HEADINGS = "loaded", "first step", "simulated", "in all"


def main() -> int:
    """Measure and print a table; return 0."""
    from fleet_sim.apps.verification import shipped

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help="names of shipped scenarios, or files (default: all shipped)")
    parser.add_argument("--seconds", type=float, default=5.0, help="simulated seconds (default 5)")
    parser.add_argument("--inside", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside is not None:
        run(args.inside, args.seconds)
        return 0
    files = shipped()
    print(f"{'':32} robots" + 2 * "".join(f"{heading:>11}" for heading in HEADINGS))
    for name in args.scenario or files:
        with tempfile.TemporaryDirectory() as cache:
            runs = [measure(str(files.get(name, Path(name))), args.seconds, cache) for _ in range(2)]
        figures = "".join(f"{value:11.2f}" for _, *values in runs for value in values)
        print(f"{name:32} {runs[0][0]:6.0f}{figures}", flush=True)
    return 0


def measure(file: str, seconds: float, cache: str) -> list[float]:
    """Return the robots of a scenario, and the times of a run with this folder as cache."""
    command = [sys.executable, __file__, "--inside", file, "--seconds", str(seconds)]
    before = used(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "XDG_CACHE_HOME": cache}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return [*json.loads(done.stdout), used(resource.RUSAGE_CHILDREN) - before]


def run(file: str, seconds: float) -> None:
    """Make the steps of a scenario, and print its robots and what this process had taken at times."""
    from fleet_sim.apps.verification import quiet
    from fleet_sim.base.settings import load_mapping
    from fleet_sim.simulation import MultiRobotSimulationCore

    with MultiRobotSimulationCore.from_dict(quiet(load_mapping(file)), source=file) as sim:
        times = [used(resource.RUSAGE_SELF)]
        sim.step_once()
        times.append(used(resource.RUSAGE_SELF))
        while sim.sim_time < seconds:
            sim.step_once()
        times.append(used(resource.RUSAGE_SELF))
        print(json.dumps([len(sim.agents), *times]))


def used(who: int) -> float:
    """Return the processor time in s."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
