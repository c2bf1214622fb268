"""Lookup tables from cells to boxes, for boxes sorted by strip and then by cell.

Both tables have the same methods; `order` sorts the boxes, and ranges are indices into that order.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints, Rows

Ranges = tuple[Ints, Ints]


class DenseTable:
    """A table of all cells: one lookup per query, memory for every cell.

    `strips`, `cells` and `last_cells` (N,) are the strip and cell of each box and the cell where it ends; there are
    `width` cells in a strip and `strip_count` strips, the last of them empty. `back` is the number of cells below its
    own that a box searches in other strips; each strip starts with that many empty cells, so that no index needs
    clipping.
    """

    def __init__(self, strips: Ints, cells: Ints, last_cells: Ints, *, width: int, strip_count: int, back: int) -> None:
        self._back = back
        self._width = width + back
        size = strip_count * self._width + back
        last_ids = strips * self._width
        last_ids += back
        ids = last_ids + cells
        last_ids += last_cells
        self.order = radix_order(ids, size)
        self._ids, self._last_ids = ids.take(self.order), last_ids.take(self.order)
        # Starts and ends are one array: a cell begins where the one before it ends.
        self._starts = np.empty(size + 1, np.int64)
        self._starts[0] = 0
        self._ends = self._starts[1:]
        np.cumsum(np.bincount(ids, minlength=size), out=self._ends)

    def own_ends(self) -> Ints:
        """Return, for each sorted box, the end of the cells of its own strip in which it lies."""
        return self._ends.take(self._last_ids)

    def look_ahead(self, step: int) -> Ranges:
        """Return, for each sorted box, begin and end of the cells it can touch `step` strips on."""
        shift = step * self._width
        return self._starts.take(self._ids + (shift - self._back)), self._ends.take(self._last_ids + shift)

    def ranges(self, strips: Ints, first_cells: Ints, last_cells: Ints) -> Ranges:
        """Return begin and end of cells first..last (inclusive) of each strip."""
        base = strips * self._width
        base += self._back
        return self._starts.take(base + first_cells), self._ends.take(base + last_cells)


class SparseTable:
    """The same by binary search, for boxes that are too far apart for a table of all cells."""

    def __init__(self, strips: Ints, cells: Ints, last_cells: Ints, *, back: int) -> None:
        self._back = back
        self._known, ranks = np.unique(strips, return_inverse=True)
        # Strip numbers of a layered grid need up to 61 bits; their ranks leave room for the cell.
        keys = (ranks.reshape(-1).astype(np.int64) << 32) | cells
        self.order = np.argsort(keys, kind="stable")
        self._keys = keys[self.order]
        self._strips, self._cells, self._last = strips[self.order], cells[self.order], last_cells[self.order]

    def own_ends(self) -> Ints:
        """Return, for each sorted box, the end of the cells of its own strip in which it lies."""
        return self.ranges(self._strips, self._last, self._last)[1]

    def look_ahead(self, step: int) -> Ranges:
        """Return, for each sorted box, begin and end of the cells it can touch `step` strips on."""
        return self.ranges(self._strips + step, np.maximum(self._cells - self._back, 0), self._last)

    def ranges(self, strips: Ints, first_cells: Ints, last_cells: Ints) -> Ranges:
        """Return begin and end of cells first..last (inclusive) of each strip."""
        ranks = np.minimum(np.searchsorted(self._known, strips), len(self._known) - 1)
        found_mask = self._known[ranks] == strips
        base = ranks.astype(np.int64) << 32
        begin = np.searchsorted(self._keys, base | first_cells, side="left")
        end = np.searchsorted(self._keys, base | last_cells, side="right")
        return np.where(found_mask, begin, 0), np.where(found_mask, end, 0)


def radix_order(ids: Ints, size: int) -> Rows:
    """Return the stable order of ids in [0, size).

    NumPy sorts 16-bit integers by radix sort: one or two such passes are several times faster than sorting int64.
    """
    if size > 1 << 32:
        return np.argsort(ids, kind="stable")
    order = ids.astype(np.uint16).argsort(kind="stable")
    if size <= 1 << 16:
        return order
    high = (ids >> 16).astype(np.uint16)
    return order.take(high.take(order).argsort(kind="stable"))
