"""Standstill: deadlocks, and how long single robots stood on their way."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.saved_classes import saved
from fleet_sim.traffic.figures.states import Role

_ROLES = list(Role)
MOVES, WAITS, WORKS = (_ROLES.index(role) for role in (Role.MOVES, Role.WAITS, Role.WORKS))


@saved
class Standstill:
    """Counts deadlocks: for `after` s robots stood on their way, and none moved or was at work at a goal.

    Each such standstill counts once, however long it lasts. `longest` is the longest time in s that any robot stood on
    its way without moving: what a deadlock of a few robots shows in while others drive.
    """

    def __init__(self, after: float) -> None:
        self.after = after
        self.deadlocks = 0
        self.longest = 0.0
        self._still = 0.0
        self._waited: Floats = np.zeros(0)

    def waited(self, count: int) -> Floats:
        """Return how long each of at least `count` robots (N,) has stood by now, in s, for `tally` to go on with."""
        if count > len(self._waited):
            self._waited = np.pad(self._waited, (0, count - len(self._waited)))
        return self._waited

    def judge(self, dt: float, longest: float, by_role: Ints) -> None:
        """Take into account that so many (4,) were in each role for `dt` s, and one has stood for `longest` s."""
        self.longest = max(self.longest, longest)
        if not by_role[WAITS] or by_role[MOVES] or by_role[WORKS]:
            self._still = 0.0
            return
        before = self._still
        self._still += dt
        # Only when the time is reached, so that one standstill is one deadlock.
        if before < self.after - 1e-9 <= self._still:
            self.deadlocks += 1

    def stuck(self) -> int:
        """Return how many robots stand on their way now, and have for at least `after` s."""
        return int(np.count_nonzero(self._waited >= self.after - 1e-9))
