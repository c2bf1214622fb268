"""A uniform grid over boxes of similar size, built by sorting.

Each box is stored once, in the cell of its lower corner. Cells form strips along x: a strip is one cell wide in y
(and, in a layered grid, one cell high in z), and its cells are half as long in x. Boxes are sorted by strip, then by
cell. All boxes of one strip that can touch a given box are therefore one contiguous range. Each pair is found
from one side only: the box that comes first searches ahead in its own strip and in the strips that follow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.collision.boxes import FAR, Boxes, RowPairs, near_in_height, near_in_plane, one_against_all
from fleet_sim.collision.tables import DenseTable, SparseTable

# Largest cell index, far above any useful scene. Boxes farther out share the last cell: this costs time but loses
# no pair, since neighbours stay neighbours.
_LAST_CELL = 1 << 30
# Above any strip of a layer, so that strips of two layers never share a number.
_SPARSE_LAYER = 1 << 31
# Memory limit of the dense table: this many cells per box, plus a fixed number.
_CELLS_PER_BOX = 8
_MIN_CELLS = 16384
# Candidates are tested in blocks of this size: memory grows with the pairs found, not with the pairs tested.
_BLOCK = 1 << 20
# Factor that covers the rounding of a width computed from corners.
_SLACK = 1.000001


class BoxGrid:
    """Finds all pairs among boxes of similar size, and between them and any other boxes.

    `cell` is the minimum size of a cell; it grows to hold the largest box. `layered` grids also divide along z,
    which pays where many boxes stand above each other. At least one box must be given; corners must be within
    `FAR` along x and y, and along z in a layered grid.
    """

    def __init__(self, boxes: Boxes, cell: float, *, layered: bool = False) -> None:
        self._boxes = boxes
        self._layered = layered
        self._low, self._high, self._widths = [*boxes.low], [*boxes.high], [*boxes.widths]
        if layered:
            self._low.append(float(boxes.lower_z.min()))
            self._high.append(float(boxes.upper_z.max()))
            self._widths.append(float((boxes.upper_z - boxes.lower_z).max()))
        # A cell at least as large as any box in y and z: boxes that touch are in the same or in adjacent strips.
        self._build(max([cell, *(width * _SLACK for width in self._widths[1:])]))

    @property
    def candidate_count(self) -> int:
        """Number of pairs that `own_pairs` will test."""
        return int(np.add.reduce(self._counts))

    def own_pairs(self) -> RowPairs:
        """Return each pair of touching boxes once, as indices (first, second), in no special order."""
        firsts, seconds = [], []
        plane, order = self._sorted_plane, self._table.order
        for first, second in _expanded(self._begins, self._counts):
            # `_begins` lists the ranges of all boxes once per searched strip; this maps a range back to its box.
            for cut in first.searchsorted(self._range_cuts):
                first[cut:] -= len(plane)
            first, second = near_in_plane(plane, first, plane, second)
            first, second = near_in_height(self._boxes, order.take(first), self._boxes, order.take(second))
            firsts.append(first)
            seconds.append(second)
        return _joined(firsts), _joined(seconds)

    def cross_pairs(self, queries: Boxes) -> RowPairs:
        """Return each touching pair (query index, box index) once, in no special order."""
        first_y, last_y = self._query_cells(queries, 1)
        first_z, last_z = self._query_cells(queries, 2) if self._layered else (first_y * 0, first_y * 0)
        rows = last_y - first_y + 1
        strip_counts = rows * (last_z - first_z + 1)
        # For a query over very many strips, comparing it with every box is cheaper.
        wide_mask = strip_counts > len(self._boxes) // 8 + 16
        firsts, seconds = [], []
        for owner, step in _expanded(np.zeros_like(strip_counts), np.where(wide_mask, 0, strip_counts)):
            across = rows.take(owner)
            strips: Ints = first_z.take(owner) + step // across
            strips *= self._layer
            strips += first_y.take(owner) + step % across
            for query, member in self._in_strips(queries, owner, strips):
                firsts.append(query)
                seconds.append(member)
        for row in np.flatnonzero(wide_mask).tolist():
            members = one_against_all(queries, row, self._boxes)
            firsts.append(np.full(len(members), row))
            seconds.append(members)
        return _joined(firsts), _joined(seconds)

    def _in_strips(self, queries: Boxes, owner: Rows, strips: Ints) -> Iterator[RowPairs]:
        """Yield the pairs of each query owner[k] with the boxes in strip strips[k]."""
        first_x, last_x = self._query_cells(queries, 0)
        begins, ends = self._table.ranges(strips, first_x.take(owner), last_x.take(owner))
        for entry, member in _expanded(begins, np.maximum(ends - begins, 0)):
            query, member = near_in_plane(queries.plane, owner.take(entry), self._sorted_plane, member)
            yield near_in_height(queries, query, self._boxes, self._table.order.take(member))

    def _build(self, cell: float) -> None:
        """Build a dense table, with larger cells if needed; a sparse one if that gives too many candidates."""
        budget = _CELLS_PER_BOX * len(self._boxes) + _MIN_CELLS
        self._set_cells(cell)
        if self._cell_count() <= budget:
            self._file(dense=True)
            return
        # Too many cells for a dense table: enlarge them until it fits, and see whether candidates stay few.
        coarse, power = cell, 1.0 / len(self._low)
        while self._cell_count() > budget:
            coarse *= max((self._cell_count() / budget) ** power, 1.05)
            self._set_cells(coarse)
        self._file(dense=True)
        if self.candidate_count > 4 * len(self._boxes) + 1024:
            self._set_cells(cell)
            self._file(dense=False)

    def _set_cells(self, cell: float) -> None:
        """Set the cells per metre and the index of the last cell along each axis."""
        # Finer along x only: there a search stays one range, while more cells in y or z would mean more strips.
        self._scales = [2.0 / cell, 1.0 / cell, 1.0 / cell]
        extents = [high - low for low, high in zip(self._low, self._high, strict=True)]
        self._last = [
            int(min(extent * scale, _LAST_CELL)) for extent, scale in zip(extents, self._scales, strict=False)
        ]
        self._clipped = max(self._last) == _LAST_CELL

    def _cell_count(self) -> float:
        layers = self._last[2] + 2 if self._layered else 1
        return float(self._last[0] + 4) * (self._last[1] + 3) * layers

    def _cells(self, values: Floats, axis: int) -> Ints:
        """Return the cell indices of coordinates within the grid."""
        scaled = values - self._low[axis]
        scaled *= self._scales[axis]
        if self._clipped:
            np.minimum(scaled, _LAST_CELL, out=scaled)
        return scaled.astype(np.int64)

    def _query_cells(self, queries: Boxes, axis: int) -> tuple[Ints, Ints]:
        """Return the first and last cells that can hold lower corners of boxes touching each query."""
        first = queries.lower(axis) - self._reach(axis)
        last = queries.upper(axis) - self._low[axis]
        first -= self._low[axis]
        for values in (first, last):
            values *= self._scales[axis]
            # Unlike np.clip these map NaN, which touches nothing, to a valid cell.
            np.fmax(values, 0.0, out=values)
            np.fmin(values, self._last[axis], out=values)
        return first.astype(np.int64), last.astype(np.int64)

    def _reach(self, axis: int) -> float:
        """Return how far below a lower corner the lower corner of a touching box may lie, rounding included."""
        return self._widths[axis] * _SLACK + 1e-15 * max(abs(self._low[axis]), abs(self._high[axis]))

    def _file(self, *, dense: bool) -> None:
        """Sort all boxes by strip and cell; `dense` tables have an entry for each cell, sparse ones for each box."""
        boxes = self._boxes
        cells, last_cells = self._cells(boxes.lower(0), 0), self._cells(boxes.upper(0), 0)
        strips = self._cells(boxes.lower(1), 1)
        rows = self._last[1] + 2  # one empty strip ends each layer
        self._layer = rows if dense else _SPARSE_LAYER
        strip_count = rows
        if self._layered:
            strips += self._cells(boxes.lower_z, 2) * self._layer
            strip_count = rows * (self._last[2] + 2)
        back = int(self._reach(0) * self._scales[0] * _SLACK) + 1
        self._table: DenseTable | SparseTable
        if dense:
            # One extra strip, as the last strip of the last layer also searches the one after it.
            size = {"width": self._last[0] + 1, "strip_count": strip_count + 1}
            self._table = DenseTable(strips, cells, last_cells, back=back, **size)
        else:
            self._table = SparseTable(strips, cells, last_cells, back=back)
        self._sorted_plane = boxes.plane.take(self._table.order, axis=0)
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Set, for each sorted box, its ranges of candidates: its own strip, then the strips that follow."""
        count = len(self._boxes)
        # Only strips that follow, since each pair is found from the box that comes first: the next one in y, and in
        # a layered grid the three neighbours in the layer above.
        steps = (1, self._layer - 1, self._layer, self._layer + 1) if self._layered else (1,)
        # In its own strip a box searches only those sorted behind it.
        begins, ends = [np.arange(1, count + 1)], [self._table.own_ends()]
        for step in steps:
            begin, end = self._table.look_ahead(step)
            begins.append(begin)
            ends.append(end)
        self._range_cuts = np.arange(count, count * len(begins), count)
        self._begins = np.concatenate(begins)
        self._counts = np.concatenate(ends)
        self._counts -= self._begins
        np.maximum(self._counts, 0, out=self._counts)


def layers_pay(boxes: Boxes, cell: float) -> bool:
    """Return whether the boxes span enough cells in height for a layered grid to be faster."""
    low, high = float(boxes.lower_z.min()), float(boxes.upper_z.max())
    return low >= -FAR and high <= FAR and high - low > 4.0 * cell


def _expanded(begins: Ints, counts: Ints) -> Iterator[RowPairs]:
    """Yield blocks (k, member): each k repeated with its counts[k] members begins[k], begins[k] + 1, ..."""
    ends = counts.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    cut, done = 0, 0
    while done < total:
        stop = len(counts)
        if total - done > _BLOCK:
            stop = max(int(ends.searchsorted(done + _BLOCK, side="right")), cut + 1)
        size = int(ends[stop - 1]) - done
        # The number of ends passed so far repeats each k counts[k] times, faster than np.repeat.
        passed = ends[cut : stop - 1] - done if done else ends[: stop - 1]
        owner = np.bincount(passed, minlength=size)[:size].cumsum()
        shift = begins[cut:stop] - ends[cut:stop]
        shift += counts[cut:stop]
        member = shift.take(owner)
        member += np.arange(done, done + size)
        if cut:
            owner += cut
        yield owner, member
        cut, done = stop, done + size


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
