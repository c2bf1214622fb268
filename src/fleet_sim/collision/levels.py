"""An index of boxes of very different sizes: a hierarchy of grids, from fine to coarse.

In a single grid, one long wall among ten thousand robots would make every cell as large as the wall. Here boxes that
are much larger than a cell are stored in a coarser level and query the finer ones.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.collision.boxes import Boxes, RowPairs, one_against_all
from fleet_sim.collision.grid import BoxGrid, layers_pay

# Up to this many boxes are compared one by one instead of building another grid.
_FEW = 4
# Candidates per box above which a layered grid is tried.
_CROWDED = 8


class BoxIndex:
    """Finds the touching pairs among boxes of any size, and between them and other boxes.

    `cell` is the cell size of the finest level; a box whose extent in the plane (with the margin) is larger
    than `multi_cell_threshold` cells belongs to a coarser level. Boxes may be infinite; boxes with NaN pair
    with nothing.
    """

    def __init__(self, boxes: Boxes, cell: float, multi_cell_threshold: float = 1.5) -> None:
        self._boxes = boxes
        self._levels: list[tuple[BoxGrid, Rows | None]] = []
        self._uppers: list[Rows] = []  # for each level, the rows of all coarser levels
        self._single_rows: Rows = np.empty(0, np.int64)
        if len(boxes):
            self._build(cell, multi_cell_threshold)

    def own_pairs(self) -> RowPairs:
        """Return each touching pair once, as indices (first, second), in no special order."""
        firsts, seconds = [], []
        for (grid, rows), upper_rows in zip(self._levels, self._uppers, strict=True):
            first, second = grid.own_pairs()
            firsts.append(first if rows is None else rows.take(first))
            seconds.append(second if rows is None else rows.take(second))
            if len(upper_rows):
                first, second = grid.cross_pairs(self._boxes.take(upper_rows))
                firsts.append(upper_rows.take(first))
                seconds.append(second if rows is None else rows.take(second))
        singles = np.zeros(len(self._boxes), bool)
        singles[self._single_rows] = True
        for row in self._single_rows:
            others = one_against_all(self._boxes, int(row), self._boxes)
            # Two such boxes find each other: the pair is kept for the lower one, and no box pairs with itself.
            others = others[~singles[others] | (others > row)]
            firsts.append(np.full(len(others), row))
            seconds.append(others)
        return _concatenated(firsts), _concatenated(seconds)

    def cross_pairs(self, queries: Boxes) -> RowPairs:
        """Return each touching pair (query index, box index) once, in no special order."""
        near_mask = queries.near_mask
        near = np.flatnonzero(near_mask)
        near_queries = queries if len(near) == len(near_mask) else queries.take(near)
        firsts, seconds = [], []
        for grid, rows in self._levels:
            first, second = grid.cross_pairs(near_queries)
            firsts.append(near.take(first))
            seconds.append(second if rows is None else rows.take(second))
        for row in self._single_rows:
            others = one_against_all(self._boxes, int(row), queries)
            # Far queries are compared with all boxes below and would be found twice.
            others = others[near_mask[others]]
            firsts.append(others)
            seconds.append(np.full(len(others), row))
        for query in np.flatnonzero(~near_mask):
            others = one_against_all(queries, int(query), self._boxes)
            firsts.append(np.full(len(others), query))
            seconds.append(others)
        return _concatenated(firsts), _concatenated(seconds)

    def _build(self, cell: float, threshold: float) -> None:
        """Sort boxes into grids of growing cells, so that none covers more than `threshold` cells per axis.

        Boxes that are far away or alone of their size are compared one by one.
        """
        boxes = self._boxes
        # The usual case, a fleet of robots of one size: one level, and no copies of rows.
        if boxes.all_near and max(boxes.widths) <= threshold * cell:
            self._add_level(None, np.empty(0, np.int64), cell)
            return
        extents = boxes.plane_extents
        rest: Rows | None = None
        if not boxes.all_near:
            rest = np.flatnonzero(boxes.near_mask)
            self._single_rows = np.flatnonzero(~boxes.near_mask)
            extents = extents[rest]
        singles = [self._single_rows]
        while len(extents):
            if len(extents) <= _FEW and self._levels:
                assert rest is not None
                singles.append(rest)
                break
            small_mask = extents <= threshold * cell
            if small_mask.all():
                self._add_level(rest, np.empty(0, np.int64), cell)
                break
            rows = np.arange(len(extents)) if rest is None else rest
            large_mask = ~small_mask
            if small_mask.any():
                self._add_level(rows[small_mask], rows[large_mask], cell)
            rest, extents = rows[large_mask], extents[large_mask]
            # Boxes of up to twice the median fit in the next level, so each round stores at least half of the rest.
            cell = max(cell * threshold, 2.0 * float(np.median(extents)) / threshold)
        self._single_rows = np.concatenate(singles)
        self._drop_single_uppers()

    def _add_level(self, rows: Rows | None, upper_rows: Rows, cell: float) -> None:
        self._levels.append((best_grid(self._boxes if rows is None else self._boxes.take(rows), cell), rows))
        self._uppers.append(upper_rows)

    def _drop_single_uppers(self) -> None:
        """Remove boxes that are compared with all others from the queries of finer levels."""
        if len(self._single_rows):
            self._uppers = [rows[~np.isin(rows, self._single_rows)] for rows in self._uppers]


def best_grid(boxes: Boxes, cell: float) -> BoxGrid:
    """Return a flat grid, or a layered one where boxes are stacked and a flat one would test too many pairs."""
    flat = BoxGrid(boxes, cell)
    if flat.candidate_count <= _CROWDED * len(boxes) or not layers_pay(boxes, cell):
        return flat
    layered = BoxGrid(boxes, cell, layered=True)
    # A layered grid searches five strips for each box instead of two, so it must save much to be faster.
    return layered if 2 * layered.candidate_count < flat.candidate_count else flat


def _concatenated(parts: list[Rows]) -> Rows:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
