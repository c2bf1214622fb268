"""HeatMap: where robots pass, and where they wait."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.saved_classes import saved
from fleet_sim.sites.grid import Grid
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.figures.tally import HeatSquares

SMALLEST = 0.5
"""Length in m of the squares that are counted in, at least: finer maps would show tracks, not traffic."""
MOST_SQUARES = 250_000


@saved
class HeatMap:
    """Counts over the squares of a site: its cells, or several cells together where those are small.

    `passages` (H * W,) are robots that came onto a square, `waited` (H * W,) seconds that robots stood there on their
    way. `free_mask` (H, W) tells where any robot can be; the first row is the one with the largest y.
    """

    def __init__(self, grid: Grid) -> None:
        cells = max(1, math.ceil(SMALLEST / grid.cell - 1e-9), math.ceil(math.sqrt(grid.count / MOST_SQUARES)))
        rows, columns = -(-grid.height // cells), -(-grid.width // cells)
        fine = np.zeros((rows * cells, columns * cells), bool)
        # The origin is at the lower left, so what is added is above and to the right.
        fine[rows * cells - grid.height :, : grid.width] = grid.free_mask
        free: Bools = np.asarray(fine.reshape(rows, cells, columns, cells).any(axis=(1, 3)))
        self.grid = Grid(free, cells * grid.cell, grid.origin)
        self.passages: Floats = np.zeros(self.grid.count)
        self.waited: Floats = np.zeros(self.grid.count)
        self._last: Ints = np.full(0, -1, np.int64)

    @property
    def free_mask(self) -> Bools:
        """Which squares (H, W) have free space."""
        return self.grid.free_mask

    def squares(self, count: int) -> HeatSquares:
        """Return this map as `tally` adds to it, which counts `count` robots."""
        if count > len(self._last):
            self._last = np.append(self._last, np.full(count - len(self._last), -1))
        grid = self.grid
        x, y, yaw = grid.origin
        # As numbers with a fraction, whatever a file has: each type would be machine code of its own.
        frame = np.array((x, y, *trig.sin_cos_of(yaw)), np.float64)
        return HeatSquares(self.passages, self.waited, self._last, frame, grid.cell, grid.width, grid.height)
