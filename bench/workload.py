"""The workload that both simulators run: initial poses, goals, and the measurements.

It is the peer's own benchmark (its cubes of 0.1 m on a grid of 1 m, physics off, time step 0.1 s, ten steps to warm
up), with one change: goals come from a seed, so that both simulators get the same. "half" sends half of the robots to
goals on the grid and up to 10 m around it; they arrive during the run, as in the peer's benchmark. "all" sends every
robot to a goal far away, so that all move in every step.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.random  # here, as the goals need it and its code is no memory of the robots

TIME_STEP = 0.1
WARM_UP_STEPS = 10
HEIGHT = 0.1
CUBE_HALF_EXTENT = 0.05
MAX_SPEED, MAX_ACCEL = 2.0, 5.0
MAX_TURN, MAX_TURN_ACCEL = 3.0, 10.0
BORDER = 10.0
FAR = 1.0e4
SEED = 7
BEGIN_WALL, BEGIN_CPU = time.perf_counter(), time.process_time()


@dataclass(frozen=True)
class Case:
    """One measurement: the fleet, its motion, and the options of fleet_sim only."""

    robots: int
    steps: int
    moving: str = "half"
    motion: str = "omni"
    collisions: bool = True
    flush: str = "demand"
    bodies: bool = False
    margin: float = 0.02
    clock: str = "wall"

    def now(self) -> float:
        """Return the seconds of the measuring clock: wall clock, or processor time of this process."""
        return time.process_time() if self.clock == "cpu" else time.perf_counter()

    def arguments(self) -> list[str]:
        """Return the command line that `from_command_line` reads."""
        return [json.dumps(asdict(self))]

    @classmethod
    def from_command_line(cls, description: str | None) -> Case:
        """Return the case given as JSON: `{"robots": 1000, "steps": 100}` and any other field."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("case", type=json.loads, help='JSON, such as \'{"robots": 1000, "steps": 100}\'')
        return cls(**parser.parse_args().case)

    @property
    def side(self) -> int:
        """Cells along each side of the grid."""
        return math.ceil(math.sqrt(self.robots))


def goals(case: Case) -> tuple[list[int], list[tuple[float, float]]]:
    """Return the indices of the robots that get a goal, and the goals (x, y)."""
    random = np.random.default_rng(SEED)
    if case.moving == "all":
        angles = random.uniform(0.0, 2.0 * math.pi, case.robots)
        points = FAR * np.stack((np.cos(angles), np.sin(angles)), axis=1)
        return list(range(case.robots)), [(float(x), float(y)) for x, y in points]
    count = max(case.robots // 2, min(case.robots, 10))
    chosen = random.choice(case.robots, count, replace=False)
    points = random.uniform(-BORDER, case.side + BORDER, (count, 2))
    return [int(index) for index in chosen], [(float(x), float(y)) for x, y in points]


def resident_bytes() -> int:
    """Return the resident memory of this process (Linux)."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def timed_steps(case: Case, step: Callable[[], object], after: Callable[[], object] = lambda: None) -> list[float]:
    """Warm up, step, and return the seconds of each measured step.

    `after` is called after each measured step and is not timed.
    """
    for _ in range(WARM_UP_STEPS):
        step()
    times = []
    for _ in range(case.steps):
        begin = case.now()
        step()
        times.append(case.now() - begin)
        after()
    return times


def summary(times: list[float]) -> dict[str, float]:
    """Return the median step in ms, and the real-time factor over all steps."""
    return {"step_ms": 1e3 * float(np.median(times)), "rtf": TIME_STEP * len(times) / sum(times)}


def report(result: dict[str, Any]) -> None:
    """Print the result as the one line the orchestrator reads, with the share of a core that this process got."""
    share = (time.process_time() - BEGIN_CPU) / (time.perf_counter() - BEGIN_WALL)
    print(json.dumps({**result, "core_share": share}))
