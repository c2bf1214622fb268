"""Closest: how near the middles of any two robots ever came."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.errors import MissingDependencyError
from fleet_sim.kernels import compiled
from fleet_sim.saved_classes import saved


@saved
class Closest:
    """Keeps the smallest distance between the middles of two robots. Exact at each call, and cheap for small moves.

    It is compiled where numba is installed; without it, it gives the same in ten times the time.
    """

    def __init__(self) -> None:
        self.distance = np.inf
        """In m; inf while there were never two robots."""
        self._order: Ints = np.empty(0, np.int64)
        self._compiled = True

    def look(self, points: Floats) -> None:
        """Take the distances between `points` (N, 2) into account."""
        if len(points) < 2:
            return
        # Sorted anew only when robots came or went; else the order of the last step is nearly right.
        if len(self._order) != len(points):
            self._order = np.argsort(points[:, 0], kind="stable")
        if self._compiled:
            try:
                self.distance = nearest(points, self._order, self.distance)
                return
            except MissingDependencyError:
                self._compiled = False
        self.distance = nearest_by_arrays(points, self._order, self.distance)


@compiled
def nearest(points: Floats, order: Ints, best: float) -> float:
    """Return the smaller of `best` and the smallest distance of two of `points` (N, 2).

    `order` (N,) is a permutation, in which the points are nearly sorted along x; it is sorted in place.
    """
    for place in range(1, len(order)):
        # Insertion sort: of what is nearly sorted it takes one look at each.
        one = order[place]
        x = points[one, 0]
        before = place - 1
        while before >= 0 and points[order[before], 0] > x:
            order[before + 1] = order[before]
            before -= 1
        order[before + 1] = one
    for place in range(len(order)):
        x, y = points[order[place], 0], points[order[place], 1]
        # Sorted along x: those behind the first that is too far away are farther still.
        for other in range(place + 1, len(order)):
            across = points[order[other], 0] - x
            if across >= best:
                break
            along = points[order[other], 1] - y
            found = np.sqrt(across * across + along * along)
            if found < best:
                best = found
    return best


def nearest_by_arrays(points: Floats, order: Ints, best: float) -> float:
    """Return what `nearest` does, without numba."""
    order[:] = order[np.argsort(points[order, 0], kind="stable")]
    x, y = points[order, 0], points[order, 1]
    # Neighbours along x first, then those two apart, and so on until nobody is near enough.
    for offset in range(1, len(order)):
        across = x[offset:] - x[:-offset]
        near = np.flatnonzero(across < best)
        if not len(near):
            break
        along = y[near + offset] - y[near]
        best = min(best, float(np.sqrt((across[near] ** 2 + along**2).min())))
    return best
