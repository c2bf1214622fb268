"""Finds the circles in reach of points: candidate pairs for the exact tests."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints

BRUTE_FORCE = 2_000_000
"""Number of combinations up to which comparing all of them is faster than a grid."""
_BLOCK = 1 << 16
"""Combinations compared at once, few enough to stay in the processor's cache."""

Pairs = tuple[Ints, Ints, Floats]


class CircleGrid(NamedTuple):
    """Circles in a grid of `columns` and `lines` of square cells, from the corner `x`, `y` on.

    `order` are the numbers of the circles, sorted by `cells`, which are counted line by line. No circle that is in
    reach of a point has its centre more than `furthest` away, which is two cells.
    """

    order: Ints
    cells: Ints
    x: float
    y: float
    cell: float
    columns: int
    lines: int
    furthest: float


_NO_PAIRS: Pairs = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def pairs_in_reach(points_x: Floats, points_y: Floats, reach: float, x: Floats, y: Floats, radii: Floats) -> Pairs:
    """Return the pairs (K,), (K,) of a point and a circle of which some part is within `reach`, and their distances.

    Distances (K,) are to the circles' centres. A few circles that are far larger than the others do not slow it down.
    """
    if len(points_x) * len(x) <= BRUTE_FORCE:
        return _compared(points_x, points_y, reach, x, y, radii, np.arange(len(x)))
    # The largest circle sets the size of the cells. A few large ones would make a grid useless for all others, so these
    # are compared with every point.
    small_mask = radii <= 0.5 * reach
    small, large = np.flatnonzero(small_mask), np.flatnonzero(~small_mask)
    near = _in_grid(points_x, points_y, reach, x[small], y[small], radii[small])
    far = _compared(points_x, points_y, reach, x[large], y[large], radii[large], large)
    points, circles, distances = (np.concatenate(parts) for parts in zip(near, far, strict=True))
    # The grid counts among the small circles only; here they get their own numbers back.
    circles[: len(near[1])] = small[near[1]]
    return points, circles, distances


def _compared(
    points_x: Floats, points_y: Floats, reach: float, x: Floats, y: Floats, radii: Floats, numbers: Ints
) -> Pairs:
    """Compare every point with every circle; `numbers` are the indices of the circles in the result."""
    limits = (radii + reach) ** 2
    rows = max(1, _BLOCK // max(1, len(x)))
    found = [_NO_PAIRS]
    for first in range(0, len(points_x), rows):
        across = x - points_x[first : first + rows, None]
        along = y - points_y[first : first + rows, None]
        across *= across
        along *= along
        across += along
        hits = np.flatnonzero((across < limits).reshape(-1))
        found.append((first + hits // len(x), numbers[hits % len(x)], np.sqrt(across.reshape(-1)[hits])))
    points, circles, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return points, circles, distances


def _in_grid(points_x: Floats, points_y: Floats, reach: float, x: Floats, y: Floats, radii: Floats) -> Pairs:
    """Find the circles, sorted into the rows of a grid, in the rows and columns around each point."""
    if not len(x):
        return _NO_PAIRS
    grid = _grid_of(reach, x, y, radii, np.arange(len(x)))
    order, cells, columns, lines, furthest = grid.order, grid.cells, grid.columns, grid.lines, grid.furthest
    # Clipped past either end on purpose: for a point beside the grid no column is left.
    from_column = np.clip(np.floor((points_x - furthest - grid.x) / grid.cell), 0, columns).astype(np.int64)
    to_column = np.clip(np.floor((points_x + furthest - grid.x) / grid.cell), -1, columns - 1).astype(np.int64)
    middle = np.floor((points_y - grid.y) / grid.cell).astype(np.int64)
    starts, ends, owners = [], [], []
    # Two rows up and down are in reach; the third is for rounding.
    for line in range(-3, 4):
        wanted = middle + line
        inside = np.flatnonzero((wanted >= 0) & (wanted < lines) & (from_column <= to_column))
        starts.append(np.searchsorted(cells, wanted[inside] * columns + from_column[inside], "left"))
        ends.append(np.searchsorted(cells, wanted[inside] * columns + to_column[inside], "right"))
        owners.append(inside)
    counts = np.concatenate(ends) - np.concatenate(starts)
    points = np.repeat(np.concatenate(owners), counts)
    circles = order[ragged_range(np.concatenate(starts), counts)]
    across, along = x[circles] - points_x[points], y[circles] - points_y[points]
    squares = across * across + along * along
    kept = np.flatnonzero(squares < (reach + radii[circles]) ** 2)
    return points[kept], circles[kept], np.sqrt(squares[kept])


def grids_of(points: int, reach: float, x: Floats, y: Floats, radii: Floats) -> list[CircleGrid]:
    """Return grids in which compiled code finds what `pairs_in_reach` finds for a number of `points`, and no more.

    All circles are in one cell where comparing all is faster, and so are those that are far larger than the others.
    """
    if points * len(x) <= BRUTE_FORCE:
        return [_one_cell(np.arange(len(x)))]
    small_mask = radii <= 0.5 * reach
    small, large = np.flatnonzero(small_mask), np.flatnonzero(~small_mask)
    grids = [_grid_of(reach, x[small], y[small], radii[small], small)] if len(small) else []
    return [*grids, _one_cell(large)] if len(large) else grids


def _one_cell(numbers: Ints) -> CircleGrid:
    return CircleGrid(numbers, np.zeros(len(numbers), np.int64), 0.0, 0.0, np.inf, 1, 1, 0.0)


def _grid_of(reach: float, x: Floats, y: Floats, radii: Floats, numbers: Ints) -> CircleGrid:
    """Return the grid of circles, at least one, that have `numbers`."""
    furthest = reach + float(radii.max())
    cell = 0.5 * furthest
    low_x, low_y = float(x.min()), float(y.min())
    columns = int((float(x.max()) - low_x) / cell) + 1
    lines = int((float(y.max()) - low_y) / cell) + 1
    # Numbered row by row: neighbouring cells of one row are consecutive, so two searches find all their circles.
    cells = ((y - low_y) / cell).astype(np.int64) * columns + ((x - low_x) / cell).astype(np.int64)
    order = np.argsort(cells, kind="stable")
    return CircleGrid(numbers[order], cells[order], low_x, low_y, cell, columns, lines, furthest)


def ragged_range(starts: Ints, counts: Ints) -> Ints:
    """Return start, start + 1, ... for each of `starts`, `counts` numbers each, one after the other."""
    total = int(counts.sum())
    before = np.cumsum(counts) - counts
    return np.arange(total) + np.repeat(starts - before, counts)
