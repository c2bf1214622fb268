"""What paths cost, in steps."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints


def steps_to_rest(paths: Ints) -> Ints:
    """Return for each of `paths` (R, T + 1) after how many steps its robot (R,) is where it stays to the end."""
    moved = np.diff(paths, axis=1) != 0
    steps = moved.shape[1] - np.argmax(moved[:, ::-1], axis=1)
    return np.asarray(np.where(moved.any(axis=1), steps, 0), np.int64)


def sum_of_costs(paths: Ints) -> int:
    """Return the sum over all robots of the steps until each is where it stays: the usual cost of a plan."""
    return int(steps_to_rest(paths).sum())


def makespan(paths: Ints) -> int:
    """Return the steps until the last robot is where it stays."""
    return int(steps_to_rest(paths).max(initial=0))
