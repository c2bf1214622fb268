"""Touching pairs among boxes that are smaller than a cell, by compiled code.

Each box is in one cell, that of its lower corner, so it can touch boxes of neighbouring cells only. Corners are sorted
by cell into one array, and each box looks at two runs of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.collision.boxes import FAR
from fleet_sim.kernels import compiled_step, inlined

# The part of a cell that a box may take: what is smaller ends in the next cell at the most, however it is rounded.
_MOST_OF_A_CELL = 0.999
_CELLS_PER_BOX = 8
_MIN_CELLS = 4096
# Cells may become so many times larger to fit into the table.
_MOST_GROWTH = 8.0
OTHER_SIZES = -1
"""Returned where the boxes are larger than cells, far apart, or no numbers."""


class CellTable(NamedTuple):
    """Room for sorting boxes: where cells begin, the cell of each box, and the sorted corners and rows."""

    begins: Ints
    cells: Ints
    corners: Floats
    rows: Rows


def cell_table(boxes: int) -> CellTable:
    cells = _CELLS_PER_BOX * boxes + _MIN_CELLS
    room = (np.zeros(cells + 3, np.int32), np.empty(boxes, np.int32), np.empty((boxes, 4)), np.empty(boxes, np.int64))
    return CellTable(*room)  # type: ignore[arg-type]  # 32 bits are enough, and half the memory to go through


@compiled_step
def small_pairs(
    lower: Floats, upper: Floats, margin: float, movers: Rows, size: float, table: CellTable, out: Ints
) -> int:
    """Write the touching pairs of `movers` (K,) to `out` (M, 2), as many as fit; return how many, or OTHER_SIZES.

    `size` is that of the cells; the smaller row of a pair comes first.
    """
    low_x, low_y, high_x, high_y, most = np.inf, np.inf, -np.inf, -np.inf, 0.0
    for row in movers:
        x, y = lower[row, 0], lower[row, 1]
        width, depth = upper[row, 0] + margin - x, upper[row, 1] + margin - y
        if not (x >= -FAR and x + width <= FAR and y >= -FAR and y + depth <= FAR and width >= 0.0 and depth >= 0.0):
            return OTHER_SIZES
        low_x, low_y, high_x, high_y = min(low_x, x), min(low_y, y), max(high_x, x), max(high_y, y)
        most = max(most, width, depth)
    if most > size * _MOST_OF_A_CELL:
        return OTHER_SIZES
    inverse = 1.0 / size
    # A column on each side and a strip above stay empty, so that each box has all neighbours.
    while ((high_x - low_x) * inverse + 4.0) * ((high_y - low_y) * inverse + 3.0) > len(table.begins) - 3:
        # Many small worlds side by side, for which there are too few cells: larger ones are still fewer than boxes.
        inverse *= 0.5
        if inverse * size * _MOST_GROWTH < 1.0:
            return OTHER_SIZES
    columns, strips = int((high_x - low_x) * inverse) + 3, int((high_y - low_y) * inverse) + 2
    _sort(lower, upper, movers, low_x, low_y, inverse, columns, columns * strips, table)
    return int(_pairs_of_cells(lower, upper, margin, len(movers), columns, table, out))


@inlined
def _sort(
    lower: Floats,
    upper: Floats,
    movers: Rows,
    low_x: float,
    low_y: float,
    inverse: float,
    columns: int,
    count: int,
    table: CellTable,
) -> None:
    """Sort the boxes by cell: afterwards the boxes of cell c are `begins[c] : begins[c + 1]`."""
    begins, cells, corners, rows = table.begins, table.cells, table.corners, table.rows
    for cell in range(count + 3):
        begins[cell] = 0
    for place in range(len(movers)):
        row = movers[place]
        column, strip = int((lower[row, 0] - low_x) * inverse), int((lower[row, 1] - low_y) * inverse)
        cell = strip * columns + column + 1
        cells[place] = cell
        begins[cell + 2] += 1
    for cell in range(count):
        begins[cell + 2] += begins[cell + 1]
    for place in range(len(movers)):
        row, cell = movers[place], cells[place]
        # begins[c + 1] is where the next box of cell c goes, and at last where cell c + 1 begins.
        to = begins[cell + 1]
        begins[cell + 1] = to + 1
        rows[to] = row
        corners[to, 0], corners[to, 1] = lower[row, 0], lower[row, 1]
        corners[to, 2], corners[to, 3] = upper[row, 0], upper[row, 1]


@inlined
def _pairs_of_cells(
    lower: Floats, upper: Floats, margin: float, boxes: int, columns: int, table: CellTable, out: Ints
) -> int:
    begins, corners, rows = table.begins, table.corners, table.rows
    count, cell = 0, 0
    for place in range(boxes):
        while begins[cell + 1] <= place:
            cell += 1
        left, below, right, above = corners[place, 0], corners[place, 1], corners[place, 2], corners[place, 3]
        # The rest of the own cell and the next one, then three cells of the next strip.
        begin, end = place + 1, begins[cell + 2]
        for _ in range(2):
            for other in range(begin, end):
                if (
                    left <= corners[other, 2] + margin
                    and corners[other, 0] <= right + margin
                    and below <= corners[other, 3] + margin
                    and corners[other, 1] <= above + margin
                ):
                    one, two = min(rows[place], rows[other]), max(rows[place], rows[other])
                    if lower[one, 2] <= upper[two, 2] + margin and lower[two, 2] <= upper[one, 2] + margin:
                        if count < len(out):
                            out[count, 0], out[count, 1] = one, two
                        count += 1
            begin, end = begins[cell + columns - 1], begins[cell + columns + 2]
    return count
