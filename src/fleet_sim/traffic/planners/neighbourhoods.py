"""Large neighbourhood search: small groups of robots are planned anew among the paths of all others."""

from __future__ import annotations

import time

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.traffic.costs import steps_to_rest
from fleet_sim.traffic.planners.improvement import HeldSteps, RobotPaths, hold, improve
from fleet_sim.traffic.planners.reserved import Reservations
from fleet_sim.traffic.planners.timetable import empty_timetable, fits_words, no_words, words_of
from fleet_sim.traffic.problem import Problem

AT_ONCE = 64
"""Rounds between two looks at the clock."""
MOST_STATES = 200_000_000
"""Nodes by steps that are searched: more take more than 3 GB."""
SPARE = 8
"""Steps that a path may be longer than the longest one, when tables are made anew as paths have become shorter."""


class Refinement:
    """Makes `paths` (R, T + 1) to `goals` (R,) cheaper, never longer; `saved` counts the steps."""

    def __init__(self, problem: Problem, goals: Ints, paths: Ints, allow_rotations: bool, group: int) -> None:
        """Groups have up to `group` robots: as many as have gained most so far."""
        network = problem.network
        if (paths.shape[1] - 1) * len(network) > MOST_STATES:
            raise InvalidValueError(f"refinements: {paths.shape[1]} steps on {len(network)} nodes are too many; use 0")
        self.costs = steps_to_rest(paths)
        self.saved = 0
        self._problem, self._goals, self._rotate = problem, goals, allow_rotations
        network.tables.block(problem.blocked)
        self._rows = network.tables.rows_of(goals)
        self._steps = network.tables.steps
        self._chances = np.array([(problem.seed * 2 + 0x9E3779B97F4A7C15) % 2**64], np.uint64)
        self._gains = np.ones((2, group + 1))
        self._lay_out(np.array(paths, np.int64, order="C"))

    def run(self, rounds: int | None, late: float) -> int:
        """Make `rounds` rounds, or as many as there is time for. Returns how many."""
        made = 0
        while (rounds is None or made < rounds) and time.monotonic() < late and self.costs.any():
            some = AT_ONCE if rounds is None else min(AT_ONCE, rounds - made)
            robots = RobotPaths(self._steps, self._rows, self._goals, self._paths, self.costs)
            self.saved += improve(self._held, robots, self._gains, some, self._rotate, self._chances)
            made += some
            if self.costs.max() + 2 * SPARE < self._paths.shape[1]:
                self._lay_out(self._paths[:, : self.costs.max() + SPARE].copy())
        return made

    @property
    def paths(self) -> Ints:
        """The paths (R, T + 1), until all robots are at their goals to stay."""
        return self._paths[:, : max(int(self.costs.max(initial=0)), 1) + 1].copy()

    def _lay_out(self, paths: Ints) -> None:
        """Enter `paths` (R, T + 1) in tables of their length."""
        self._paths = paths
        problem, length = self._problem, paths.shape[1] - 1
        network = problem.network
        on_grid = fits_words(network)
        words = words_of(network, problem.blocked) if on_grid else no_words()
        table = empty_timetable(words, length)
        kept = Reservations(network, 0 if on_grid else length)
        reserved = kept.arrays(problem.blocked)
        self._held = HeldSteps(reserved._replace(held=table.held) if on_grid else reserved, words, table)
        for robot in range(len(paths)):
            hold(self._held, paths, robot, self._rotate, robot)
