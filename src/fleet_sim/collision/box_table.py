"""Tables of boxes by cells, built by compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.boxes import FAR
from fleet_sim.kernels import compiled_step, inlined

# A box over more cells than this is in none: it is compared with all others.
_MOST_CELLS = 256
# Memory of a table: this many cells per box, plus a fixed number.
_CELLS_PER_BOX = 8
_MIN_CELLS = 16384
# Cells may become so many times larger to keep that limit.
_MOST_GROWTH = 8.0
NOT_FOR_IT = -1
"""What kernels return where the grids of `levels` are better: boxes of all sizes, or far apart."""


class BoxTable(NamedTuple):
    """Boxes by square cells in the plane. A coordinate v is in column or strip floor((v - low) * inverse), clipped.

    `frame` is low x, low y, inverse; `size` columns, strips, large boxes. Cell c holds the rows
    `entries[begins[c] : begins[c + 1]]`, ascending. `large[:size[2]]` are the rows of boxes that are in no cell.
    """

    frame: Floats
    size: Ints
    begins: Ints
    entries: Ints
    large: Ints


def new_table(boxes: int) -> BoxTable:
    """Return an empty table for up to `boxes` boxes; it is allocated once and filled in each step."""
    cells = _CELLS_PER_BOX * boxes + _MIN_CELLS
    return BoxTable(
        np.zeros(3),
        np.zeros(3, np.int64),
        np.zeros(cells + 2, np.int64),
        np.empty(4 * boxes + cells, np.int64),
        np.empty(boxes, np.int64),
    )


def roomy(table: BoxTable, boxes: int) -> BoxTable:
    return table if len(table.large) >= boxes else new_table(boxes + boxes // 2)


@compiled_step
def are_filed(lower: Floats, upper: Floats, mask: Bools, rows: Rows, corners: Floats) -> bool:
    """Return whether the boxes in `mask` (N,) are those of `rows` (K,) with `corners` (K, 6), lower ones first."""
    place = 0
    for row in range(len(mask)):
        if mask[row]:
            if place >= len(rows) or rows[place] != row:
                return False
            for axis in range(3):
                # Boxes with NaN are never the same; they pair with nothing, which takes no table.
                if lower[row, axis] != corners[place, axis] or upper[row, axis] != corners[place, 3 + axis]:
                    return False
            place += 1
    return place == len(rows)


@inlined
def span(first: float, last: float, low: float, inverse: float, count: int) -> tuple[int, int]:
    """Return the columns or strips from one coordinate to another.

    They grow with the coordinates, however these are rounded: intervals that touch have one in common.
    """
    begin, end = (first - low) * inverse, (last - low) * inverse
    return (
        0 if begin <= 0.0 else int(begin) if begin < count else count - 1,
        0 if end <= 0.0 else int(end) if end < count else count - 1,
    )


@inlined
def _is_near(low_x: float, low_y: float, high_x: float, high_y: float) -> bool:
    # Comparisons with NaN are false: such a box is in no cell, and pairs with nothing.
    return -FAR <= low_x <= high_x <= FAR and -FAR <= low_y <= high_y <= FAR


@compiled_step
def file_boxes(lower: Floats, upper: Floats, margin: float, rows: Rows, cell: float, table: BoxTable) -> int:
    """Put the boxes of `rows` (K,) into `table`; return how many entries it has, or NOT_FOR_IT."""
    if _lay_out(lower, upper, margin, rows, cell, table) == NOT_FOR_IT:
        return NOT_FOR_IT
    total = _count(lower, upper, margin, rows, table)
    if total > len(table.entries):
        return NOT_FOR_IT
    _fill(lower, upper, margin, rows, table)
    return total


@inlined
def _lay_out(lower: Floats, upper: Floats, margin: float, rows: Rows, cell: float, table: BoxTable) -> int:
    """Choose the frame and the size of a table; return its cells, or NOT_FOR_IT where they would be too many."""
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for row in rows:
        if _is_near(lower[row, 0], lower[row, 1], upper[row, 0], upper[row, 1]):
            low_x, low_y = min(low_x, lower[row, 0]), min(low_y, lower[row, 1])
            high_x, high_y = max(high_x, upper[row, 0] + margin), max(high_y, upper[row, 1] + margin)
    if not low_x <= high_x:
        low_x, low_y, high_x, high_y = 0.0, 0.0, 0.0, 0.0
    inverse = 1.0 / cell
    while ((high_x - low_x) * inverse + 1.0) * ((high_y - low_y) * inverse + 1.0) > len(table.begins) - 2:
        inverse *= 0.5
        if inverse * cell * _MOST_GROWTH < 1.0:
            return NOT_FOR_IT
    table.frame[0], table.frame[1], table.frame[2] = low_x, low_y, inverse
    table.size[0], table.size[1] = int((high_x - low_x) * inverse) + 1, int((high_y - low_y) * inverse) + 1
    return int(table.size[0] * table.size[1])


@inlined
def _count(lower: Floats, upper: Floats, margin: float, rows: Rows, table: BoxTable) -> int:
    """Set where each cell begins, and which boxes are in none; return how many entries there are."""
    begins, large = table.begins, table.large
    low_x, low_y, inverse = table.frame[0], table.frame[1], table.frame[2]
    columns, strips = table.size[0], table.size[1]
    begins[: columns * strips + 2] = 0
    total, large_count = 0, 0
    for row in rows:
        left, right = span(lower[row, 0], upper[row, 0] + margin, low_x, inverse, columns)
        below, above = span(lower[row, 1], upper[row, 1] + margin, low_y, inverse, strips)
        covered = (right - left + 1) * (above - below + 1)
        near = _is_near(lower[row, 0], lower[row, 1], upper[row, 0], upper[row, 1])
        if not near or covered > _MOST_CELLS:
            large[large_count] = row
            large_count += 1
            continue
        total += covered
        for strip in range(below, above + 1):
            for place in range(strip * columns + left, strip * columns + right + 1):
                begins[place + 2] += 1
    table.size[2] = large_count
    for place in range(columns * strips):
        begins[place + 2] += begins[place + 1]
    return total


@inlined
def _fill(lower: Floats, upper: Floats, margin: float, rows: Rows, table: BoxTable) -> None:
    """Enter the boxes of `rows` into the cells that they touch, but for the large ones.

    `lower`, `upper` (N, 3) in m; the upper corners are moved by `margin`. Within a cell, boxes are in order of their
    rows.
    """
    begins, entries, large = table.begins, table.entries, table.large
    low_x, low_y, inverse = table.frame[0], table.frame[1], table.frame[2]
    columns, strips = table.size[0], table.size[1]
    passed = 0
    for row in rows:
        if passed < table.size[2] and large[passed] == row:
            passed += 1
            continue
        left, right = span(lower[row, 0], upper[row, 0] + margin, low_x, inverse, columns)
        below, above = span(lower[row, 1], upper[row, 1] + margin, low_y, inverse, strips)
        for strip in range(below, above + 1):
            for place in range(strip * columns + left, strip * columns + right + 1):
                # begins[c + 1] is where the next box of cell c goes, and at last where cell c + 1 begins.
                entries[begins[place + 1]] = row
                begins[place + 1] += 1
