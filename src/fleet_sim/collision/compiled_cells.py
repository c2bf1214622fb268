"""Touching pairs among boxes that are smaller than a cell.

Each box is in one cell, that of its lower corner, so it can touch boxes of neighbouring cells only. Lower corners are
sorted by cell into one array, and each box looks at two runs of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.kernels import compiled_step, inlined

# In metres. A cell index would no longer locate a box that reaches farther.
FAR = 1e12
# The part of a cell that a box may take: what is smaller ends in the next cell at the most, however it is rounded.
MOST_OF_A_CELL = 0.999
# More cells compare fewer boxes, as long as the caches hold them.
_CELLS_PER_BOX, _CELLS_PER_BOX_OF_MANY, _MANY = 8, 4, 50_000
_MIN_CELLS = 4096
# Cells may become so many times larger to fit into the table.
_MOST_GROWTH = 8.0
# Around the boxes a frame has room for so many cells, and for this part of the area, into which boxes may drive.
_ROOM_CELLS = 4.0
_ROOM = 1.0 / 64.0
# A frame is laid anew after so many checks, as boxes may have come closer together.
_CHECKS = 100
OTHER_SIZES = -1
"""Returned where the boxes are larger than cells, far apart, or no numbers."""
_OUTSIDE = -1.0


class CellTable(NamedTuple):
    """Room for sorting boxes, and the frame of the cells, which is kept from check to check.

    The boxes of cell c are `begins[c] : begins[c + 1]` of `corners`, `cells` and `rows`, which have their lower
    corners (x, y), cells and rows; `unsorted` are the cells in the order of the boxes. `frame` is low x, low y, cells
    per metre, the size of cells that was asked for; `shape` columns, strips, checks left.
    """

    begins: Ints
    unsorted: Ints
    cells: Ints
    corners: Floats
    rows: Ints
    frame: Floats
    shape: Ints


def cell_table(boxes: int) -> CellTable:
    # 32 bits are enough, and half the memory to go through. Two more than boxes are read, and not used.
    per_box = _CELLS_PER_BOX if boxes < _MANY else _CELLS_PER_BOX_OF_MANY
    sizes = (per_box * boxes + _MIN_CELLS + 3, boxes, boxes + 2, boxes + 2)
    begins, unsorted, cells, rows = (np.empty(size, np.int32) for size in sizes)
    corners, frame, shape = np.empty((boxes + 2, 2)), np.zeros(4), np.zeros(3, np.int64)
    return CellTable(begins, unsorted, cells, corners, rows, frame, shape)  # type: ignore[arg-type]


@compiled_step
def small_pairs(
    lower: Floats,
    upper: Floats,
    margin: float,
    movers: Rows,
    second_mask: Bools,
    cross: bool,
    size: float,
    table: CellTable,
    out: Ints,
) -> int:
    """Write the touching pairs of `movers` (K,) to `out` (M, 2), as many as fit; return how many, or OTHER_SIZES.

    `size` is that of the cells; the smaller row of a pair comes first. Which pairs count is told by `is_wanted`.
    """
    most = _OUTSIDE
    table.shape[2] -= 1
    if table.shape[2] > 0 and table.frame[3] == size:
        most = _file(lower, upper, margin, movers, table)
    if most == _OUTSIDE:
        if not _lay_frame(lower, upper, margin, movers, size, table):
            return OTHER_SIZES
        most = _file(lower, upper, margin, movers, table)
    if not 0.0 <= most <= size * MOST_OF_A_CELL:
        return OTHER_SIZES
    _sort(lower, movers, table)
    return int(_pairs_of_cells(lower, upper, margin, second_mask, cross, most, len(movers), table, out))


@inlined
def _lay_frame(lower: Floats, upper: Floats, margin: float, movers: Rows, size: float, table: CellTable) -> bool:
    """Lay cells over all boxes, with some room around them; return whether they can be laid."""
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for row in movers:
        x, y = lower[row, 0], lower[row, 1]
        right, above = upper[row, 0] + margin, upper[row, 1] + margin
        if not (x >= -FAR and right <= FAR and y >= -FAR and above <= FAR and right >= x and above >= y):
            return False
        low_x, low_y, high_x, high_y = min(low_x, x), min(low_y, y), max(high_x, x), max(high_y, y)
    room_x, room_y = _ROOM * (high_x - low_x) + _ROOM_CELLS * size, _ROOM * (high_y - low_y) + _ROOM_CELLS * size
    width, depth, inverse = high_x - low_x + 2.0 * room_x, high_y - low_y + 2.0 * room_y, 1.0 / size
    # A column on each side and a strip above stay empty, so that each box has all neighbours.
    while (width * inverse + 4.0) * (depth * inverse + 3.0) > len(table.begins) - 3:
        # Many small worlds side by side, for which there are too few cells: larger ones are still fewer than boxes.
        inverse *= 0.5
        if inverse * size * _MOST_GROWTH < 1.0:
            return False
    table.frame[0], table.frame[1], table.frame[2], table.frame[3] = low_x - room_x, low_y - room_y, inverse, size
    table.shape[0], table.shape[1], table.shape[2] = int(width * inverse) + 3, int(depth * inverse) + 2, _CHECKS
    return True


@inlined
def _file(lower: Floats, upper: Floats, margin: float, movers: Rows, table: CellTable) -> float:
    """Find the cell of each box, and count those of each cell; return the largest width or depth of a box.

    _OUTSIDE where a box is not in the frame, or its corners are no numbers.
    """
    low_x, low_y, inverse = table.frame[0], table.frame[1], table.frame[2]
    columns, last_column, last_strip = table.shape[0], table.shape[0] - 2.0, table.shape[1] - 1.0
    begins, unsorted, most = table.begins, table.unsorted, 0.0
    begins[: columns * table.shape[1] + 3] = 0
    for place in range(len(movers)):
        row = movers[place]
        x, y = lower[row, 0], lower[row, 1]
        width, depth = upper[row, 0] + margin - x, upper[row, 1] + margin - y
        column, strip = (x - low_x) * inverse, (y - low_y) * inverse
        inside = (column >= 0.0) & (strip >= 0.0) & (column < last_column) & (strip < last_strip)
        if not (inside & (width >= 0.0) & (depth >= 0.0)):
            return _OUTSIDE
        most = max(most, width, depth)
        cell = int(strip) * columns + int(column) + 1
        unsorted[place] = cell
        begins[cell + 2] += 1
    return most


@inlined
def _sort(lower: Floats, movers: Rows, table: CellTable) -> None:
    """Sort the boxes by cell."""
    begins, corners = table.begins, table.corners
    total = 0
    for cell in range(2, table.shape[0] * table.shape[1] + 2):
        total += begins[cell]
        begins[cell] = total
    for place in range(len(movers)):
        row, cell = movers[place], table.unsorted[place]
        # begins[c + 1] is where the next box of cell c goes, and at last where cell c + 1 begins.
        to = begins[cell + 1]
        begins[cell + 1] = to + 1
        table.rows[to], table.cells[to] = row, cell
        corners[to, 0], corners[to, 1] = lower[row, 0], lower[row, 1]


@inlined
def _pairs_of_cells(
    lower: Floats,
    upper: Floats,
    margin: float,
    second_mask: Bools,
    cross: bool,
    most: float,
    boxes: int,
    table: CellTable,
    out: Ints,
) -> int:
    """Write the pairs of rows whose boxes touch to `out` (M, 2), and return how many there are.

    Each pair of neighboring cells is looked at once. `most` is the largest distance of lower corners at which boxes can
    touch. The number may be above M; then the rest is not written.
    """
    begins, corners, rows, columns, count = table.begins, table.corners, table.rows, table.shape[0], 0
    for place in range(boxes):
        cell, x, y = table.cells[place], corners[place, 0], corners[place, 1]
        # The rest of the own cell and the next one, then three cells of the next strip.
        begin, end = place + 1, begins[cell + 2]
        further, last = begins[cell + columns - 1], begins[cell + columns + 2]
        # In most places there are so few others that these are all. They are looked at in any case, as nobody can guess
        # whether there are any; what is read behind the end is not used.
        near = (begin < end) & _is_near(x, y, begin, most, corners)
        near |= (further < last) & _is_near(x, y, further, most, corners)
        near |= (further + 1 < last) & _is_near(x, y, further + 1, most, corners)
        if not (near | (begin + 1 < end) | (further + 2 < last)):
            continue
        for _ in range(2):
            for other in range(begin, end):
                if not _is_near(x, y, other, most, corners):
                    continue
                one, two = rows[place], rows[other]
                if is_wanted(second_mask[one], second_mask[two], cross) and touch(lower, upper, margin, one, two):
                    count = add_pair(one, two, out, count)
            begin, end = further, last
    return count


@inlined
def _is_near(x: float, y: float, other: int, most: float, corners: Floats) -> bool:
    """Return whether lower corners are no farther apart than boxes are large, as those of boxes that touch are."""
    # Rounding keeps the order of numbers: the corner of one is not beyond the other's end, so neither is it with the
    # corner of the other taken away from both.
    return (abs(corners[other, 0] - x) <= most) & (abs(corners[other, 1] - y) <= most)


@inlined
def is_wanted(one_second: bool, other_second: bool, cross: bool) -> bool:
    """Return whether two boxes may be a pair: two second ones are none, and with `cross` neither are two first ones."""
    return one_second != other_second or not (one_second or cross)


@inlined
def touch(lower: Floats, upper: Floats, margin: float, one: int, other: int) -> bool:
    """Return whether two boxes are within `margin` of each other on each axis."""
    for axis in range(3):
        # Not `>`: a box with no number touches nothing.
        if not (lower[one, axis] <= upper[other, axis] + margin and lower[other, axis] <= upper[one, axis] + margin):
            return False
    return True


@inlined
def add_pair(one: int, other: int, out: Ints, count: int) -> int:
    """Write a pair to `out` (M, 2), the smaller row first, if there is room; return how many pairs there are now."""
    if count < len(out):
        out[count, 0], out[count, 1] = min(one, other), max(one, other)
    return count + 1
