"""Patience: for how long robots have been on their way."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.saved_classes import saved
from fleet_sim.traffic.problem import Problem


@saved
class Patience:
    """Counts the calls in which robots started away from their goals, by their ids; robots not asked for are forgotten.

    Calls are counted and not steps, as only a part of each window may be driven.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._ids: Ints = np.empty(0, np.int64)
        self._waited: Ints = np.empty(0, np.int64)

    def waited(self, problem: Problem) -> Ints:
        """Return for how many calls each robot (R,) has been on its way, this one included; 0 for those there."""
        self.calls += 1
        waited = self._waited
        if not np.array_equal(problem.ids, self._ids):
            order = np.argsort(self._ids)
            at = np.searchsorted(self._ids[order], problem.ids)
            at = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(problem), np.int64)
            known_mask = self._ids[at] == problem.ids if len(order) else np.zeros(len(problem), bool)
            waited = np.where(known_mask, waited[at], 0) if len(order) else np.zeros(len(problem), np.int64)
            self._ids = problem.ids
        self._waited = np.where(problem.starts == problem.goals, 0, waited + 1)
        return self._waited.copy()
