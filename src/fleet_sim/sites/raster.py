"""From outlines to cells: the free space of a building from its floors and walls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_EXTENT
from fleet_sim.sites.grid import Grid, check_size
from fleet_sim.sites.stations import Zone, ZoneKind
from fleet_sim.spatial import trigonometry as trig


def free_space(floors: Sequence[Floats], walls: Floats, cell: float, thickness: float) -> Grid:
    """Return the grid of cells whose middles are on a floor and that no wall touches.

    `floors` are outlines (K, 2), `walls` (M, 4) edges from x, y to x, y of `thickness`, all in m. Without floors all
    that is within the bounds of the walls is free.
    """
    corners = np.concatenate([*floors, walls[:, :2], walls[:, 2:]])
    # NaN fails this comparison too.
    if not np.abs(corners).max() <= LARGEST_EXTENT:
        raise InvalidValueError(f"the building must be within {LARGEST_EXTENT:g} m of its origin along each axis")
    low = np.floor((corners.min(axis=0) - thickness) / cell) * cell
    size = np.ceil((corners.max(axis=0) + thickness - low) / cell).astype(np.int64)
    if size.max() > 1_000_000:
        raise InvalidValueError(f"the building is {(size * cell).tolist()} m large, which is too much")
    width, height = size.tolist()
    check_size(height, width)
    grid = Grid(np.ones((height, width), bool), cell, (float(low[0]), float(low[1]), 0.0))
    middles = grid.middles
    free = np.zeros(grid.count, bool) if floors else np.ones(grid.count, bool)
    for floor in floors:
        free |= Zone("floor", ZoneKind.NO_GO, floor).contains(middles)
    mask = free.reshape(height, width)
    for wall in walls.tolist():
        _block(mask, grid, wall, 0.5 * thickness)
    return grid.with_free(mask)


def _block(mask: Bools, grid: Grid, wall: Sequence[float], half: float) -> None:
    """Take the cells out of `mask` that a wall with half thickness `half` touches."""
    cell, (left, bottom, _) = grid.cell, grid.origin
    x1, y1, x2, y2 = wall
    # Only the cells around the wall are looked at; a building has a thousand walls.
    columns = np.arange(*_span(min(x1, x2) - half - left, max(x1, x2) + half - left, cell, grid.width))
    ups = np.arange(*_span(min(y1, y2) - half - bottom, max(y1, y2) + half - bottom, cell, grid.height))
    x, y = np.meshgrid(left + (columns + 0.5) * cell, bottom + (ups + 0.5) * cell)
    length = max(trig.hypot_of(x2 - x1, y2 - y1), 1e-9)
    ahead, aside = (x2 - x1) / length, (y2 - y1) / length
    along = (x - x1) * ahead + (y - y1) * aside
    off = np.abs((y - y1) * ahead - (x - x1) * aside)
    # How far a cell reaches in the direction of the wall, and across it.
    reach = 0.5 * cell * (abs(ahead) + abs(aside))
    touched = (off < half + reach) & (along > -half - reach) & (along < length + half + reach)
    rows = grid.height - 1 - ups
    mask[np.ix_(rows, columns)] &= ~touched


def _span(low: float, high: float, cell: float, count: int) -> tuple[int, int]:
    return max(int(np.floor(low / cell)), 0), min(int(np.floor(high / cell)) + 1, count)


def around(points: Floats) -> Floats:
    """Return the corners (4, 2) of all space within 2 m of `points`: as much room as lanes without walls promise."""
    low, high = points.min(axis=0) - 2.0, points.max(axis=0) + 2.0
    return np.array([low, (high[0], low[1]), high, (low[0], high[1])])
