"""Horizons: an upper bound of each sensor's ranges by direction, so that hidden bodies need not be rasterised."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.spatial import trigonometry as trig

SECTORS = 64
_WIDTH = 2.0 * np.pi / SECTORS
_WIDEST = 4
"""Number of sectors that are looked up. A circle that covers more counts as visible."""


class Horizon:
    """The largest range of the rays of N sensors, by sector of the full circle around each, (N, SECTORS).

    Sectors without rays see nothing.
    """

    def __init__(self, ranges: Floats, angles: Floats) -> None:
        """Summarise `ranges` (N, M) of rays at `angles` (M,) in the sensors' frames."""
        sectors = np.floor(angles / _WIDTH).astype(np.int64) % SECTORS
        order = np.argsort(sectors, kind="stable")
        # `reduceat` needs the rays of a sector side by side.
        starts = np.flatnonzero(np.diff(sectors[order], prepend=-1))
        self._furthest = np.full((len(ranges), SECTORS), -np.inf)
        # A ray that hits nothing has an infinite range, so its sector hides nothing.
        self._furthest[:, sectors[order[starts]]] = np.maximum.reduceat(ranges[:, order], starts, axis=1)

    def hidden_mask(self, sensors: Ints, x: Floats, y: Floats, distances: Floats, radii: Floats) -> Bools:
        """Return which circles (K,), given in the frames of `sensors` (K,), are hidden behind the horizon."""
        furthest = self._furthest.reshape(-1)
        angles = trig.arctan2(y, x)
        halves = trig.arcsin(np.minimum(radii / np.maximum(distances, 1e-12), 1.0))
        first = np.floor((angles - halves) / _WIDTH).astype(np.int64)
        span = np.floor((angles + halves) / _WIDTH).astype(np.int64) - first
        base = sensors * SECTORS
        limit = furthest.take(base + first % SECTORS)
        # The maximum over all sectors the circle covers: it must be hidden in each. Narrow circles look up their last
        # sector again, which changes nothing.
        for step in range(1, _WIDEST):
            np.maximum(limit, furthest.take(base + (first + np.minimum(step, span)) % SECTORS), out=limit)
        hidden_mask: Bools = distances - radii > limit + 1e-9
        hidden_mask &= span < _WIDEST
        return hidden_mask
