"""Large neighbourhood search: small groups of robots are planned anew among the paths of all others."""

from __future__ import annotations

import time

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.traffic.planners.reserved import Reservations, improve
from fleet_sim.traffic.problem import Problem

AT_ONCE = 64
"""Rounds between two looks at the clock."""
MOST_STATES = 200_000_000
"""Nodes by steps that are searched: more take more than 3 GB."""


class Refinement:
    """Makes `paths` (R, T + 1) to `goals` (R,) cheaper, never longer; `saved` counts the steps."""

    def __init__(self, problem: Problem, goals: Ints, paths: Ints, allow_rotations: bool) -> None:
        network = problem.network
        length = paths.shape[1] - 1
        if length * len(network) > MOST_STATES:
            raise InvalidValueError(f"refinements: {length} steps on {len(network)} nodes are too many; use 0")
        self._paths = np.array(paths, np.int64, order="C")
        self.costs = costs_of(paths)
        self.saved = 0
        self._problem, self._goals, self._rotate = problem, goals, allow_rotations
        network.tables.block(problem.blocked)
        self._rows = network.tables.rows_of(goals)
        self._steps = network.tables.steps
        self._reservations = Reservations(network, length)
        self._words = np.array([(problem.seed * 2 + 0x9E3779B97F4A7C15) % 2**64], np.uint64)
        for robot, path in enumerate(self._paths):
            self._reservations.reserve(path, robot)

    def run(self, rounds: int | None, size: int, late: float) -> int:
        """Make `rounds` rounds, or as many as there is time for; groups have `size` robots. Returns how many."""
        made = 0
        while (rounds is None or made < rounds) and time.monotonic() < late and self.costs.any():
            some = AT_ONCE if rounds is None else min(AT_ONCE, rounds - made)
            self.saved += improve(
                *self._reservations.arrays(self._problem.blocked),
                self._steps,
                self._rows,
                self._goals,
                self._paths,
                self.costs,
                size,
                some,
                self._rotate,
                self._words,
            )
            made += some
        return made

    @property
    def paths(self) -> Ints:
        """The paths (R, T + 1), until all robots are at their goals to stay."""
        return self._paths[:, : max(int(self.costs.max(initial=0)), 1) + 1].copy()


def costs_of(paths: Ints) -> Ints:
    """Return for each of `paths` (R, T + 1) the step from which on the robot stays where it is at the end."""
    away = paths != paths[:, -1:]
    return np.where(away.any(axis=1), paths.shape[1] - np.argmax(away[:, ::-1], axis=1), 0)
