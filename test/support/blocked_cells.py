"""Grids of a size that is no round number, turned, and how far places are from their blocked cells."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Bools, Floats

CELL, ORIGIN = 0.45, (3.7, -2.2, 0.7)


def gap(free: Bools, places: Floats) -> Floats:
    """Distances of places (K, 2) in m along the grid from what is blocked; the edge of the map is."""
    height, width = free.shape
    x, y = places.T
    nearest = np.minimum.reduce([x, y, width * CELL - x, height * CELL - y])
    for row, column in np.argwhere(~free).tolist():
        left, low = column * CELL, (height - 1 - row) * CELL
        across = np.maximum(np.maximum(left - x, x - left - CELL), 0.0)
        up = np.maximum(np.maximum(low - y, y - low - CELL), 0.0)
        nearest = np.minimum(nearest, np.hypot(across, up))
    return nearest
