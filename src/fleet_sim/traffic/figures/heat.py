"""HeatMap: where robots pass, and where they wait."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.saved_classes import saved
from fleet_sim.sites.grid import Grid
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
        """Return this map for kernels that count `count` robots, whose sums they add to; only for maps not turned."""
        if count > len(self._last):
            self._last = np.append(self._last, np.full(count - len(self._last), -1))
        grid = self.grid
        origin = np.array(grid.origin[:2], np.float64)
        return HeatSquares(self.passages, self.waited, self._last, origin, grid.cell, grid.width, grid.height)

    def look(self, robots: Ints, points: Floats, waits_mask: Bools, dt: float) -> None:
        """Count `robots` (K,) at `points` (K, 2), of which some have waited for the last `dt` s."""
        squares = self._squares(points)
        if len(robots) and robots[-1] >= len(self._last):
            self._last = np.append(self._last, np.full(int(robots.max()) + 1 - len(self._last), -1))
        came = squares != self._last[robots]
        if came.any():
            self._last[robots] = squares
            # Beside the map nothing is counted.
            np.add.at(self.passages, squares[came & (squares >= 0)], 1.0)
        standing = squares[waits_mask]
        if len(standing):
            np.add.at(self.waited, standing[standing >= 0], dt)

    def _squares(self, points: Floats) -> Ints:
        """Return the squares (K,) of `points` (K, 2), -1 beside the map, in half the time of `Grid.cells_at`."""
        grid = self.grid
        turned = grid.origin[2] != 0.0
        own = grid.to_own(points) if turned else points - np.array(grid.origin[:2])
        # Shifted by one, so that cutting off the fraction is rounding down just below the map, too.
        columns, ups = (own * (1.0 / grid.cell) + 1.0).T.astype(np.int64) - 1
        # As unsigned numbers what is negative is too large: one comparison instead of two.
        inside = (columns.view(np.uint64) < grid.width) & (ups.view(np.uint64) < grid.height)
        squares = (grid.height - 1 - ups) * grid.width + columns
        return squares if inside.all() else np.where(inside, squares, -1)
