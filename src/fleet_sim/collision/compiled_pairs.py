"""The broad phase as compiled passes over boxes: the same pairs as the grids of `levels`, in the same order.

It is for worlds that have machine code loaded anyway, and for the usual case: boxes of about one size in a bounded
area, with a few large ones. Where boxes are of all sizes, or far apart, it leaves the work to the grids.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.box_table import NOT_FOR_IT, BoxTable, are_filed, file_boxes, new_table, roomy, span
from fleet_sim.collision.compiled_cells import OTHER_SIZES, cell_table, small_pairs
from fleet_sim.kernels import compiled_step, inlined

# So many comparisons with large boxes are cheaper than the grids.
_MOST_COMPARISONS = 100_000


class CompiledPairs:
    """Finds touching pairs among moving boxes, and between them and static ones; keeps the table of static boxes."""

    def __init__(self) -> None:
        self._moving = new_table(0)
        self._fixed = new_table(0)
        self._fixed_rows: Rows = np.empty(0, np.int64)
        self._fixed_corners: Floats = np.empty((0, 6))
        self._fixed_key = (-1.0, -1.0)
        self._cells = cell_table(0)
        self._out: Ints = np.empty((256, 2), np.int64)

    def pairs(
        self, lower: Floats, upper: Floats, margin: float, moving_mask: Bools, fixed_mask: Bools | None, cell: float
    ) -> Ints | None:
        """Return the pairs (M, 2) of rows within `margin`, the smaller row first; None where the grids are better.

        Each has a row of `moving_mask` (N,), the other one is in it, too, or in `fixed_mask` (N,).
        """
        # Only moving boxes, as of robots alone: one table of small ones is enough.
        movers = np.flatnonzero(moving_mask)
        if fixed_mask is None:
            found = self._among_small(lower, upper, margin, movers, cell)
            if found is not None:
                return found
        self._moving = roomy(self._moving, len(movers))
        if file_boxes(lower, upper, margin, movers, cell, self._moving) == NOT_FOR_IT:
            return None
        fixed_rows = self._fixed_rows[:0]
        if fixed_mask is not None:
            if not self._file_fixed(lower, upper, margin, fixed_mask, cell):
                return None
            fixed_rows = self._fixed_rows
        # Where there is no room for all pairs they are counted, and looked for again.
        while True:
            count = int(near_pairs(lower, upper, margin, movers, self._moving, fixed_rows, self._fixed, self._out))
            if count == NOT_FOR_IT:
                return None
            if count <= len(self._out):
                return self._out[:count]
            self._out = np.empty((2 * count, 2), np.int64)

    def _among_small(self, lower: Floats, upper: Floats, margin: float, movers: Rows, cell: float) -> Ints | None:
        """Return the pairs of boxes that are all smaller than a cell; None where they are not."""
        if len(self._cells.unsorted) < len(movers):
            self._cells = cell_table(len(movers) + len(movers) // 2)
            # More pairs than boxes are rare, and then all is looked for again.
            self._out = np.empty((max(len(self._out), len(movers)), 2), np.int64)
        while True:
            count = int(small_pairs(lower, upper, margin, movers, cell, self._cells, self._out))
            if count == OTHER_SIZES:
                return None
            if count <= len(self._out):
                return self._out[:count]
            self._out = np.empty((2 * count, 2), np.int64)

    def _file_fixed(self, lower: Floats, upper: Floats, margin: float, fixed_mask: Bools, cell: float) -> bool:
        """Bring the table of static boxes up to date; return whether there is one."""
        unchanged = are_filed(lower, upper, fixed_mask, self._fixed_rows, self._fixed_corners)
        if unchanged and self._fixed_key == (margin, cell):
            return True
        # Invalid until all of it is filed: the work may end half-way.
        self._fixed_key = (-1.0, -1.0)
        rows = np.flatnonzero(fixed_mask)
        self._fixed = roomy(self._fixed, len(rows))
        if file_boxes(lower, upper, margin, rows, cell, self._fixed) == NOT_FOR_IT:
            return False
        self._fixed_rows, self._fixed_corners = rows, np.concatenate((lower[rows], upper[rows]), axis=1)
        self._fixed_key = (margin, cell)
        return True


@compiled_step
def near_pairs(
    lower: Floats,
    upper: Floats,
    margin: float,
    movers: Rows,
    moving: BoxTable,
    fixed_rows: Rows,
    fixed: BoxTable,
    out: Ints,
) -> int:
    """Write the touching pairs to `out` (M, 2), as many as fit; return how many there are, or NOT_FOR_IT.

    Rows `movers` are in the table `moving`, `fixed_rows` in `fixed`.
    """
    large, large_fixed = moving.size[2], fixed.size[2] if len(fixed_rows) else 0
    # Large boxes are compared with all others, one by one.
    if large * (len(movers) + len(fixed_rows)) + large_fixed * len(movers) > _MOST_COMPARISONS:
        return NOT_FOR_IT
    count = _in_cells(lower, upper, margin, movers, moving, moving, True, out, 0)
    if len(fixed_rows):
        count = _in_cells(lower, upper, margin, movers, moving, fixed, False, out, count)
    for place in range(large):
        row = moving.large[place]
        # Two of them find each other: the pair is kept for the smaller row.
        count = _with_all(lower, upper, margin, row, movers, moving.large[:place], out, count)
        count = _with_all(lower, upper, margin, row, fixed_rows, moving.large[:0], out, count)
    for place in range(large_fixed):
        count = _with_all(lower, upper, margin, fixed.large[place], movers, moving.large[:large], out, count)
    return count


@inlined
def _touch(lower: Floats, upper: Floats, margin: float, one: int, other: int) -> bool:
    for axis in range(3):
        # Not `>`: a box with no number touches nothing.
        if not (lower[one, axis] <= upper[other, axis] + margin and lower[other, axis] <= upper[one, axis] + margin):
            return False
    return True


@inlined
def _in_cells(
    lower: Floats,
    upper: Floats,
    margin: float,
    movers: Rows,
    moving: BoxTable,
    others: BoxTable,
    own: bool,
    out: Ints,
    count: int,
) -> int:
    """Add the pairs of movers with boxes in their cells, of another table or of their `own`; return the new count."""
    low_x, low_y, inverse = others.frame[0], others.frame[1], others.frame[2]
    columns, strips = others.size[0], others.size[1]
    begins, entries = others.begins, others.entries
    passed = 0
    for row in movers:
        # Large ones come later, each with all others.
        if passed < moving.size[2] and moving.large[passed] == row:
            passed += 1
            continue
        left, right = span(lower[row, 0], upper[row, 0] + margin, low_x, inverse, columns)
        below, above = span(lower[row, 1], upper[row, 1] + margin, low_y, inverse, strips)
        for strip in range(below, above + 1):
            for column in range(left, right + 1):
                cell = strip * columns + column
                for place in range(begins[cell], begins[cell + 1]):
                    other = entries[place]
                    # Of the own table each pair comes up twice: the larger row is the other one.
                    if (own and other <= row) or not _touch(lower, upper, margin, row, other):
                        continue
                    # Two that share several cells are a pair in the first of these.
                    first, _ = span(lower[other, 0], lower[other, 0], low_x, inverse, columns)
                    lowest, _ = span(lower[other, 1], lower[other, 1], low_y, inverse, strips)
                    if column == max(left, first) and strip == max(below, lowest):
                        count = _add(row, other, out, count)
    return count


@inlined
def _with_all(
    lower: Floats, upper: Floats, margin: float, row: int, others: Rows, passed: Rows, out: Ints, count: int
) -> int:
    """Add the pairs of `row` with those `others` that are not among `passed`, both ascending; return the new count."""
    skipped = 0
    for other in others:
        # Both lists ascend, so one place in the second one is enough.
        if skipped < len(passed) and passed[skipped] == other:
            skipped += 1
        elif other != row and _touch(lower, upper, margin, row, other):
            count = _add(row, other, out, count)
    return count


@inlined
def _add(row: int, other: int, out: Ints, count: int) -> int:
    if count < len(out):
        out[count, 0], out[count, 1] = min(row, other), max(row, other)
    return count + 1
