"""Measure what a recording costs: `python bench/record.py [--robots 1000] [--seconds 30]`.

The same run, at full speed, without and with a recording at 10 Hz, in turns; half of the robots move. For each time
step: how much longer the run takes, in real time and in processor time of its own thread, how much the writing thread
takes for one sample, and the size of a minute. At 0.1 s each step is a sample; the budgets are for 1/240 s.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import ours
import workload
from workload import Case

from fleet_sim import AgentManager, MultiRobotSimulationCore

RATE = 10.0
COST_BUDGET, SIZE_BUDGET = 0.10, 15.0
"""Of the run's time, and MB of a simulated minute of 1,000 robots."""


def run(robots: int, seconds: float, path: Path | None) -> tuple[float, float, float]:
    """Return real seconds, processor seconds of this thread, and those of all others, of one run."""
    case = Case(robots=robots, steps=0)
    sim: MultiRobotSimulationCore = ours.build(case)
    manager = AgentManager(sim)
    ours.spawn(manager, case)
    ours.command(manager, case)
    return _measured(sim, seconds, path)


def _measured(sim: MultiRobotSimulationCore, seconds: float, path: Path | None) -> tuple[float, float, float]:
    for _ in range(workload.WARM_UP_STEPS):
        sim.step_once()
    recording = None if path is None else sim.record(path, rate=RATE)
    wall, own, every = time.perf_counter(), time.thread_time(), time.process_time()
    for _ in range(sim.clock.ticks(seconds)):
        sim.step_once()
    wall, own = time.perf_counter() - wall, time.thread_time() - own
    if recording is not None:
        recording.close()
    others = time.process_time() - every - own
    sim.close()
    return wall, own, others


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30.0, help="simulated seconds of a run")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"{args.robots} robots, {RATE:g} Hz of simulated time")
    print("step        longer  longer (own thread)  writing  a minute")
    for step in (1 / 240, 0.05, 0.1):
        workload.TIME_STEP = step
        longer, own, writing, sizes = [], [], [], []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "run.mcap")
                without = run(args.robots, args.seconds, None)
                recorded = run(args.robots, args.seconds, path)
                sizes.append(path.stat().st_size / 1e6 * 60.0 / args.seconds)
            longer.append(recorded[0] / without[0] - 1.0)
            own.append(recorded[1] / without[1] - 1.0)
            writing.append(1e3 * recorded[2] / (args.seconds * RATE))
        figures = [statistics.median(values) for values in (longer, own, writing, sizes)]
        print(f"{step:.5f} s  {figures[0]:6.0%}  {figures[1]:19.0%}  {figures[2]:4.1f} ms  {figures[3]:5.1f} MB")
    print(f"budgets at {1 / 240:.5f} s: {COST_BUDGET:.0%} longer, {SIZE_BUDGET:g} MB")


if __name__ == "__main__":
    main()
