"""Closest: how near the middles of any two robots ever came."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints


class Closest:
    """Keeps the smallest distance between the middles of two robots. Exact at each call, and cheap for small moves."""

    def __init__(self) -> None:
        self.distance = np.inf
        """In m; inf while there were never two robots."""
        self._order: Ints = np.empty(0, np.int64)

    def look(self, points: Floats) -> None:
        """Take the distances between `points` (N, 2) into account."""
        count = len(points)
        if count < 2:
            return
        if len(self._order) != count:
            self._order = np.argsort(points[:, 0], kind="stable")
        x = points[self._order, 0]
        if (x[1:] < x[:-1]).any():
            # Nearly in order already, which a stable sort makes use of.
            again = np.argsort(x, kind="stable")
            self._order, x = self._order[again], x[again]
        y = points[self._order, 1]
        best = self.distance
        for offset in range(1, count):
            across = x[offset:] - x[:-offset]
            near = np.flatnonzero(across < best)
            # Sorted along x: those farther apart in the order are farther apart in x, too.
            if not len(near):
                break
            along = y[near + offset] - y[near]
            found = float((across[near] ** 2 + along**2).min()) ** 0.5
            best = min(best, found)
        self.distance = best
