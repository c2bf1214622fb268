"""Measure what a recording costs: `python bench/record.py [--robots 1000] [--seconds 200]`.

The same run, at full speed, without and with a recording at 10 Hz, in turns: a fleet half of which drives in circles,
with three time steps, and the 1,000 robots of config/sites/sortation.yaml, which get a new plan each second. For each:
how much longer the run takes, in real time and in processor time of its own thread; how much processor time that is
for a sample; how much the writing process takes for one, without its start; how long closing waits for it, and the
size of a minute. The recording begins before the measurement does: the writing process needs a second to start. A run
must be long enough to fill the memory between both, some hundred samples; then it waits for the writing process.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams
from fleet_sim.base.files import resolve_config

RATE = 10.0
STEPS = (1 / 240, 0.05, 0.1)
COST_BUDGET, SIZE_BUDGET = 0.10, 15.0
"""Of the run's time, and MB of a simulated minute of 1,000 robots."""
SPACING = 2.5
"""In m: circling robots do not meet."""
WARM_UP = 2.0
"""In s of real time, for the writing process to start and for its first samples."""


@dataclass(frozen=True)
class Cost:
    """Seconds of one run: real ones, those of its own thread, of the writing process, and of closing; and MB."""

    wall: float
    own: float
    writing: float = 0.0
    closing: float = 0.0
    size: float = 0.0


def fleet(robots: int, step: float) -> MultiRobotSimulationCore:
    """Return a simulation of boxes, half of which drive in circles of different sizes."""
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, target_rtf=0.0, timestep=step))
    box = ShapeParams("box", half_extents=(0.3, 0.2, 0.1), rgba_color=(0.2, 0.5, 0.9, 1.0))
    side = int(robots**0.5)
    for number in range(robots):
        row, column = divmod(number, side)
        pose = Pose.from_xyz(SPACING * column, SPACING * row, 0.1)
        agent = sim.spawn(AgentSpawnParams(box, box, pose, name=f"robot_{number}"))
        if number % 2:
            agent.set_velocity(vx=0.2 + 0.1 * number / robots, wz=0.5)
    return sim


def traffic() -> MultiRobotSimulationCore:
    """Return the shipped scenario with 1,000 robots in the traffic."""
    sim = MultiRobotSimulationCore.from_yaml(resolve_config("sites/sortation.yaml"))
    sim.params.target_rtf = 0.0
    return sim


def run(make: Callable[[], MultiRobotSimulationCore], seconds: float, path: Path | None) -> Cost:
    """Return the cost of a run of what `make` returns, with a recording in `path`."""
    with make() as sim:
        recording = None if path is None else sim.record(path, rate=RATE)
        if recording is not None:
            time.sleep(WARM_UP)
        for _ in range(sim.clock.ticks(1.0)):
            sim.step_once()
        wall, own = time.perf_counter(), time.thread_time()
        for _ in range(sim.clock.ticks(seconds)):
            sim.step_once()
        wall, own = time.perf_counter() - wall, time.thread_time() - own
        if recording is None or path is None:
            return Cost(wall, own)
        closing, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        recording.close()
        closing = time.perf_counter() - closing
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        writing = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(wall, own, writing, closing, path.stat().st_size / 1e6 * 60.0 / (seconds + 1.0))


def start_cost(make: Callable[[], MultiRobotSimulationCore]) -> float:
    """Return the processor time of a writing process that has next to nothing to write, in s."""
    with tempfile.TemporaryDirectory() as folder:
        return run(make, 0.0, Path(folder, "run.mcap")).writing


def _least(costs: list[Cost]) -> Cost:
    return Cost(**{name: min(getattr(cost, name) for cost in costs) for name in Cost.__dataclass_fields__})


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=200.0, help="simulated seconds of a run")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"{args.robots} robots, {RATE:g} Hz of simulated time; a run without: ms of its thread per simulated second")
    worlds = {f"{step:.5f} s": partial(fleet, args.robots, step) for step in STEPS} | {"traffic": traffic}
    start = min(start_cost(next(iter(worlds.values()))) for _ in range(args.rounds))
    print(f"the writing process takes {start:.2f} s of processor time to start")
    print("step        without  longer  longer (own thread)  a sample: there  writing it  closing  a minute")
    for name, make in worlds.items():
        pairs = []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory() as folder:
                without = run(make, args.seconds, None)
                pairs.append((without, run(make, args.seconds, Path(folder, "run.mcap"))))
        # The least of all rounds: what else the machine does only adds to it.
        without, recorded = (_least([pair[kind] for pair in pairs]) for kind in (0, 1))
        samples = args.seconds * RATE
        cells = (
            f"{1e3 * without.own / args.seconds:4.1f} ms  {100.0 * (recorded.wall / without.wall - 1.0):5.0f} %  "
            f"{100.0 * (recorded.own / without.own - 1.0):17.0f} %  "
            f"{1e6 * (recorded.own - without.own) / samples:13.0f} us  "
            f"{1e3 * (recorded.writing - start) / samples:7.2f} ms  {recorded.closing:5.2f} s  "
            f"{recorded.size:5.1f} MB"
        )
        print(f"{name:9}  {cells}", flush=True)
    print(f"budgets: {COST_BUDGET:.0%} longer, {SIZE_BUDGET:g} MB")


if __name__ == "__main__":
    main()
