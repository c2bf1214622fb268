"""Lengths of routes on a site: one table per goal, looked up for many places at once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats, Ints
from fleet_sim.sites.site import Site
from fleet_sim.traffic.field import CostField
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.rules import Rules
from fleet_sim.traffic.steps import Steps

Table = npt.NDArray[np.float32]

MOST_MEMORY = 256_000_000
"""Of the kept tables, in bytes; the tables not used for the longest time are computed again when needed."""
_NEAR = [(down, right) for down in (0, -1, 1) for right in (0, -1, 1)]


class Lengths(Protocol):
    """Lengths of ways between cells, or nodes, which are numbered as `cells_of` says."""

    def cells_of(self, points: Floats) -> Ints:
        """Return the cells (K,) of `points` (K, 2) or (K, 3) in m; -1 where no way leads."""

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way surely leads from cell `begin` to cell `end`."""

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) in m from `cells` (K,) to the cell `goal`; inf where there is no way."""


def matrix(lengths: Lengths, cells: Ints, goals: Ints) -> Floats:
    """Return the lengths (K, G) in m from `cells` (K,) to each of `goals` (G,)."""
    found = np.full((len(cells), len(goals)), np.inf)
    # Each goal once, as a table serves all places.
    chosen, places = np.unique(goals, return_inverse=True)
    for number, goal in enumerate(chosen.tolist()):
        if goal >= 0:
            found[:, places.ravel() == number] = lengths.to(goal, cells)[:, None]
    return found


class LaneLengths:
    """Lengths in m of the ways of the traffic, along the cells of its grid, for robots that drive in it."""

    def __init__(self, network: Network, cell: float) -> None:
        self._network = network
        self._cell = cell

    def cells_of(self, points: Floats) -> Ints:
        """Return the nodes (K,) at `points` (K, 2) in m; -1 where there is none."""
        return self._network.node_at(points[:, :2])

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way leads from node `begin` to node `end`."""
        return min(begin, end) >= 0 and bool(self._network.distances(end)[begin] >= 0)

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) from the nodes `cells` (K,) to the node `goal`; inf where there is no way."""
        # Any node will do for those that are none: they are left out below.
        steps = self._network.distances(goal)[np.maximum(cells, 0)]
        return np.where((cells < 0) | (steps < 0) | (goal < 0), np.inf, steps * self._cell)


class RouteLengths:
    """Lengths in m of the shortest ways along the cells of `site`, for footprints of `radius` m.

    They keep to one-way and no-go zones, and are inf where there is no way. Exact to a cell: for choosing between
    robots, not for driving.
    """

    def __init__(self, site: Site, radius: float) -> None:
        self._cell = site.grid.cell
        self._grid = site.open_grid
        rules = Rules(site)
        self._uniform = rules.uniform
        self._steps = Steps(self._grid, rules, radius)
        self._tables: OrderedDict[int, Table] = OrderedDict()

    def cells_of(self, points: Floats) -> Ints:
        """Return the cells (K,) of `points` (K, 2 or 3) in m that routes there go through; -1 for none."""
        grid, steps = self._grid, self._steps
        own = grid.cells_at(points[:, :2])
        rows, columns = np.divmod(np.maximum(own, 0), grid.width)
        found = np.full(len(own), -1, np.int64)
        # A station at a shelf may be in a cell whose middle is too near to it; then routes end from the next one.
        for down, right in _NEAR:
            cells = (rows + down + 1) * steps.width + columns + right + 1
            found = np.where((found < 0) & (own >= 0) & steps.clear_mask[cells], cells, found)
        return found

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way leads from cell `begin` to cell `end`; False where one-way zones would have to tell."""
        regions = self._steps.regions
        return self._uniform and min(begin, end) >= 0 and bool(regions[begin] == regions[end])

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) from `cells` to the cell `goal`, as `cells_of` numbers them."""
        lengths = self._table(goal)[np.maximum(cells, 0)].astype(np.float64)
        lengths[cells < 0] = np.inf
        return lengths

    def _table(self, goal: int) -> Table:
        """Return the lengths of ways from all cells to a goal cell, in m; infinite where no way leads.

        Computed at the first question. The least recently used tables go where all of them take more than MOST_MEMORY
        bytes.
        """
        kept = self._tables.get(goal)
        if kept is None:
            field = CostField(self._steps, [goal] if goal >= 0 else [], [0.0] if goal >= 0 else [], None)
            # Nothing leads to the frame around the map, so asking for it settles all the rest.
            field.grow([0])
            kept = self._tables[goal] = (field.cost * self._cell).astype(np.float32)
            while len(self._tables) > 1 and len(self._tables) * kept.nbytes > MOST_MEMORY:
                self._tables.popitem(last=False)
        self._tables.move_to_end(goal)
        return kept
