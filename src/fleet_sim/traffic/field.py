"""CostField: how far it is from every cell to one goal, and which step is the first of the shortest way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.traffic.steps import LENGTHS, Steps

NO_STEP = 8


class CostField:
    """Costs from cells to a goal, in cells at full speed; computed as far as somebody asked.

    Dijkstra's algorithm backwards from `seeds`, cells from which the goal is `costs` away. A step costs at least 1, so
    all cells within 1 of the nearest open one are settled together, in array operations.
    """

    def __init__(self, steps: Steps, seeds: Sequence[int], costs: Sequence[float], delays: Floats | None) -> None:
        self._steps = steps
        self._delays = delays
        size = len(steps.clear_mask)
        self.cost: Floats = np.full(size, np.inf)
        # Bytes, as a route is followed cell by cell and these are read faster than elements of an array.
        self.step = bytearray([NO_STEP]) * size
        self._first = np.frombuffer(self.step, np.uint8)
        self._open: Ints = np.array(seeds, np.int64)
        self.cost[self._open] = costs
        self.settled_below = 0.0
        """Costs below this are final."""

    @property
    def size(self) -> int:
        """Memory in bytes, about."""
        return 9 * len(self.step)

    def grow(self, cells: Sequence[int]) -> None:
        """Settle the costs of `cells`; inf remains for those from which the goal cannot be reached."""
        while len(self._open) and max(self.cost[cell] for cell in cells) >= self.settled_below:
            self._settle_next()

    def _settle_next(self) -> None:
        """Settle the open cells within 1 of the cheapest cost, and open those that lead to them.

        Steps cost at least 1, so what is found meanwhile is not cheaper than what is settled.
        """
        costs = self.cost[self._open]
        self.settled_below = math.floor(float(costs.min())) + 1.0
        near_mask = costs < self.settled_below
        # A cell is open several times if it became nearer.
        front = np.unique(self._open[near_mask])
        found = [self._open[~near_mask]]
        for number, offset in enumerate(self._steps.offsets):
            entered = front[self._steps.enters[number][front]]
            cells = entered - offset
            step: Floats | float = LENGTHS[number]
            if self._delays is not None:
                step = step * np.maximum(self._delays[entered], self._delays[cells])
            costs = self.cost[entered] + step
            nearer_mask = costs < self.cost[cells]
            cells = cells[nearer_mask]
            self.cost[cells] = costs[nearer_mask]
            self._first[cells] = number
            found.append(cells)
        self._open = np.concatenate(found)
        # What was settled with this front and found again is done with.
        self._open = self._open[self.cost[self._open] >= self.settled_below]
        if not len(self._open):
            self.settled_below = math.inf

    def follow(self, cell: int) -> list[int]:
        """Return the cells of the way from `cell` to the last one before the goal, both included."""
        cells, offsets, step = [cell], self._steps.offsets, self.step
        while step[cell] != NO_STEP:
            cell += offsets[step[cell]]
            cells.append(cell)
        return cells
