"""Steps: from which cells a robot of some size may drive to which of the eight around them, and for what cost."""

from __future__ import annotations

import copy
import math
from typing import TypeVar

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.sites.grid import Grid
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.rules import Rules

Array = TypeVar("Array", Bools, Floats)

DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""Steps as (columns, rows); the first four are straight."""
LENGTHS = (1.0,) * 4 + (math.sqrt(2.0),) * 4


class Steps:
    """Steps between middles of cells for a robot with a disc of `radius` m as footprint.

    Cells are numbered with a frame of blocked ones around them (`width` to a row), so that no step leaves the array.
    Between four middles that are clear all is clear, so diagonal steps need the two cells beside them.
    """

    def __init__(self, grid: Grid, rules: Rules, radius: float) -> None:
        self.grid = grid.clear_of(radius)
        self.width = grid.width + 2
        # A frame of blocked cells: steps at the border need no test of their own.
        self.clear_mask: Bools = np.pad(self.grid.free_mask, 1).ravel()
        self.offsets = [down * self.width + right for right, down in DIRECTIONS]
        self.regions: Ints = np.pad(self.grid.regions().reshape(grid.height, grid.width), 1, constant_values=-1).ravel()
        self._speeds = self._framed(rules.speeds[rules.label])
        self._limited = bool(np.isfinite(rules.speeds).any())
        self.enters = [self._enters(number, rules) for number in range(len(DIRECTIONS))]

    def _framed(self, values: Array) -> Array:
        """Return `values` (H * W,) of the cells with a frame of zeros."""
        framed: Array = np.pad(values.reshape(self.grid.free_mask.shape), 1).ravel()
        return framed

    def _enters(self, number: int, rules: Rules) -> Bools:
        """Return the cells that may be entered by step `number`."""
        offset, (right, down) = self.offsets[number], DIRECTIONS[number]
        # A cell's value moves to the cell after the step.
        mask = self.clear_mask & np.roll(self.clear_mask, offset)
        # Diagonally only where both cells beside the step are clear: the disc would touch their corners.
        if right and down:
            mask &= np.roll(self.clear_mask, down * self.width) & np.roll(self.clear_mask, right)
        if not rules.uniform:
            # Both cells have to allow the direction, the one that is left and the one that is entered.
            allowed_mask = self._framed(rules.allowed_mask(DIRECTIONS[number]))
            mask &= allowed_mask & np.roll(allowed_mask, offset)
        return mask

    def avoiding(self, discs: Floats, reach: float) -> Steps:
        """Return these steps without those on which a disc of `reach` touches one of `discs` (K, 3), all in cells."""
        other = copy.copy(self)
        other.clear_mask, other.enters = self.clear_mask.copy(), [mask.copy() for mask in self.enters]
        height, width = self.grid.free_mask.shape
        for x, y, radius in discs.tolist():
            limit = radius + reach - 1e-9
            # A step is at most a diagonal long: those that end farther away are clear.
            far = limit + 1.5
            columns = np.arange(max(math.floor(x - far), 0), min(math.ceil(x + far), width))
            rows = np.arange(max(math.floor(y - far), 0), min(math.ceil(y + far), height))
            cells = (rows[:, None] + 1) * self.width + columns + 1
            right, down = np.broadcast_arrays(columns + 0.5 - x, (rows + 0.5 - y)[:, None])
            other.clear_mask[cells[trig.hypot(right, down) < limit]] = False
            for mask, (across, along), length in zip(other.enters, DIRECTIONS, LENGTHS, strict=True):
                # From the middle that the step comes from, how far along it the disc is nearest.
                share = np.clip(1.0 - (right * across + down * along) / (length * length), 0.0, 1.0)
                near = trig.hypot(right - (1.0 - share) * across, down - (1.0 - share) * along) < limit
                mask[cells[near]] = False
        return other

    def costs(self, speed: float) -> Floats | None:
        """Return how much longer a robot with `speed` m/s takes in each cell, at least 1; None: 1 everywhere."""
        if not self._limited:
            return None
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(self._speeds > 0.0, np.maximum(speed / self._speeds, 1.0), 1.0))

    def number(self, column: int, row: int) -> int:
        """Return the number of a cell."""
        return (row + 1) * self.width + column + 1

    def middle(self, cell: int) -> tuple[float, float]:
        """Return the middle of a cell as (column, row)."""
        row, column = divmod(cell, self.width)
        return column - 0.5, row - 0.5
