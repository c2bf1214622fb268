"""The workload of arms that both simulators run: kinematic pandas, no collision checks, all joints always moving.

Every arm goes back and forth between two poses, far enough from each other that no joint arrives while steps are
measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

TIME_STEP = 0.01
LOW = [-1.0, -1.0, -1.0, -2.8, -1.0, 0.2, -1.0, 0.0, 0.0]
HIGH = [1.0, 1.0, 1.0, -0.3, 1.0, 3.0, 1.0, 0.04, 0.04]
"""Positions of the nine movable joints."""
LEG = 40
"""Number of steps after which the arms reverse."""


def targets(leg: int, fixed: int = 0) -> list[float]:
    """Return the targets of leg number `leg`, optionally including the fixed joints of the description."""
    pose = HIGH if leg % 2 == 0 else LOW
    return [*pose[:7], *([0.0] * fixed), *pose[7:], *([0.0] * (fixed > 0))]


def measure(step: Callable[[], object], send: Callable[[int], object], legs: int) -> dict[str, float]:
    """Return the lowest and the median time of a step in ms, over `legs` legs after one warm-up leg."""
    times = []
    for leg in range(legs + 1):
        send(leg)
        for _ in range(LEG):
            begin = time.perf_counter()
            step()
            if leg:
                times.append(time.perf_counter() - begin)
    return {"min_ms": 1e3 * float(np.min(times)), "median_ms": 1e3 * float(np.median(times))}
