"""Occupancy grids of what does not move: a map that agrees with what a lidar at the same height sees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Floats, Ints, Rows, as_float, as_floats
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError
from fleet_sim.sensors.nearby import ragged_range
from fleet_sim.sensors.outlines import Discs, Outlines, Polygons, Walls, outlines_of
from fleet_sim.sensors.solids import solids_of
from fleet_sim.sensors.surfaces import surfaces_of

FREE, OCCUPIED = 0, 100
MOST_CELLS = 100_000_000
COARSE_CELLS = 25_000_000
"""Largest number of cells of a coarsened grid; lower, since receivers of the map have to store it too."""
_STATIC = CollisionMode.STATIC.code
_EMPTY_SIZE = 10.0
_CORE = 0.499
"""Half the side of a cell without its rim, in cells."""
_WHOLE = 0.5 + 1e-6
"""The same with its rim: a wall without thickness between two cells is in one of them, and not in none."""


@dataclass(frozen=True, eq=False)
class OccupancyGrid:
    """Cells (height, width), FREE or OCCUPIED, seen from above: `cells[0, 0]` is the corner of least x and y.

    `origin` is that corner, (x, y) in m in the world, `resolution` the side of a cell in m, `z` the height of the cut.
    """

    cells: npt.NDArray[np.int8]
    origin: tuple[float, float]
    resolution: float
    z: float

    def values_at(self, points: Floats) -> npt.NDArray[np.int8]:
        """Return the cells (N,) at world `points` (N, 2) or (N, 3); -1, unknown, outside of the grid."""
        cells = self.cells_at(points)
        inside_mask = self.inside_mask(cells)
        # Points outside read some cell, which the next line replaces.
        columns, lines = np.where(inside_mask, cells.T, 0)
        return np.where(inside_mask, self.cells[lines, columns], np.int8(-1))

    def cells_at(self, points: Floats) -> Ints:
        """Return column and line (N, 2) of the cells at world `points` (N, 2) or (N, 3), also outside of the grid."""
        return np.floor((points[:, :2] - self.origin) / self.resolution).astype(np.int64)

    def inside_mask(self, cells: Ints) -> Bools:
        """Return which `cells` (N, 2), column and line, the grid has."""
        height, width = self.cells.shape
        columns, lines = cells.T
        return (columns >= 0) & (columns < width) & (lines >= 0) & (lines < height)


def immovable_rows(world: World) -> Rows:
    """Return the rows of entities that never move: STATIC ones, and objects without mass that are not pickable."""
    rows = world.rows
    fixture_mask = ~world.pickable[rows] & (world.mass[rows] == 0.0) & (world.kind[rows] != KIND_AGENT)
    still_mask = (world.collision_mode[rows] == _STATIC) | fixture_mask
    # What is attached to another entity moves with it.
    still: Rows = rows[still_mask & (world.parent[rows] == NO_ROW)]
    return still


def occupancy_grid(
    world: World,
    *,
    resolution: float = 0.05,
    z: float = 0.2,
    margin: float = 1.0,
    bounds: tuple[float, float, float, float] | None = None,
    coarsen: bool = False,
) -> OccupancyGrid:
    """Return the map, at height `z`, of everything that never moves.

    A cell is OCCUPIED when anything, surface or inside, is in its square; what only touches its rim is not. A concave
    mesh is a surface alone. The grid covers `bounds`, (least x, least y, largest x, largest y), or everything there is,
    with a `margin` around it. Raises InvalidValueError for a resolution that is not above 0, for bounds in the wrong
    order, and for grids of more than 100 million cells; with `coarsen` such a grid has larger cells instead, see its
    `resolution`.
    """
    step = as_float(resolution, "resolution in m", low=1e-6)
    rows = immovable_rows(world)
    outlines = outlines_of(solids_of(world, rows), surfaces_of(world, rows), np.array([as_float(z, "z in m")]))
    # The outlines of upright solids cover all heights; a lidar tests them per sensor, the map once.
    outlines = outlines._replace(discs=_at_height(outlines.discs, z), polygons=_at_height(outlines.polygons, z))
    grid = _empty_grid(outlines, step, z, as_float(margin, "margin in m", low=0.0), bounds, coarsen)
    discs = outlines.discs
    radii = np.sqrt(discs.squares_at(np.arange(len(discs.circles.rows)), np.full(len(discs.circles.rows), z)))
    for x, y, radius in zip(discs.circles.x.tolist(), discs.circles.y.tolist(), radii.tolist(), strict=True):
        _fill_disc(grid, x, y, radius)
    for corners in _each_polygon(outlines.polygons):
        _fill_polygon(grid, corners)
    segments = outlines.segments
    for start, end in zip(segments.starts.T, segments.ends.T, strict=True):
        _fill_polygon(grid, np.stack((start, end), axis=1), half=_WHOLE)
    _fill_walls(grid, outlines.walls)
    grid.cells.flags.writeable = False
    return grid


def _at_height(outlines: Discs | Polygons, z: float) -> Any:
    kept = np.flatnonzero((outlines.circles.lower <= z) & (z <= outlines.circles.upper))
    circles = outlines.circles.take(kept)
    if isinstance(outlines, Discs):
        return Discs(circles, outlines.z[kept], outlines.ball_mask[kept])
    return Polygons(circles, outlines.first[kept], outlines.sizes[kept], outlines.corners)


def _each_polygon(polygons: Polygons) -> Iterator[Floats]:
    """Yield the corners (2, K) of each polygon."""
    for first, size in zip(polygons.first.tolist(), polygons.sizes.tolist(), strict=True):
        yield polygons.corners[:, first : first + size]


def _empty_grid(
    outlines: Outlines,
    step: float,
    z: float,
    margin: float,
    bounds: tuple[float, float, float, float] | None,
    coarsen: bool,
) -> OccupancyGrid:
    """Return a free grid over `bounds`, or over all outlines with a margin; raises for too many cells."""
    if bounds is None:
        half = 0.5 * _EMPTY_SIZE
        box = _extent(outlines, margin) or (-half, -half, half, half)
    else:
        left, lowest, right, highest = as_floats(bounds, (4,), "bounds").tolist()
        box = (left, lowest, right, highest)
    area = (box[2] - box[0]) * (box[3] - box[1])
    if coarsen and area > MOST_CELLS * step * step:
        # Whole multiples keep the cells of maps of one place over each other.
        step *= math.ceil(math.sqrt(area / (COARSE_CELLS * step * step)))
    # Cells begin at whole multiples of their size, so that maps of one place fit over each other.
    first_x, first_y = math.floor(box[0] / step + 1e-9), math.floor(box[1] / step + 1e-9)
    width, height = math.ceil(box[2] / step - 1e-9) - first_x, math.ceil(box[3] / step - 1e-9) - first_y
    if width < 1 or height < 1:
        raise InvalidValueError(f"bounds: expected (least x, least y, largest x, largest y), got {box}")
    if width * height > MOST_CELLS:
        raise InvalidValueError(
            f"a grid of {width} x {height} cells is too large (at most {MOST_CELLS}): give a resolution above "
            f"{step:g} m, or bounds"
        )
    return OccupancyGrid(np.zeros((height, width), np.int8), (first_x * step, first_y * step), step, z)


def _extent(outlines: Outlines, margin: float) -> tuple[float, float, float, float] | None:
    """Return the box around all discs and polygons with a margin, None where there are none."""
    discs, polygons, segments = outlines.discs, outlines.polygons, outlines.segments
    if not len(discs.circles.rows) and not len(polygons.circles.rows) and not len(segments.circles.rows):
        return None
    corners = polygons.corners[:, ragged_range(polygons.first, polygons.sizes)]
    centres = np.stack((discs.circles.x, discs.circles.y))
    corners = np.concatenate((corners, segments.starts, segments.ends), axis=1)
    low = np.concatenate((centres - discs.circles.radii, corners), axis=1).min(axis=1) - margin
    high = np.concatenate((centres + discs.circles.radii, corners), axis=1).max(axis=1) + margin
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def _window(grid: OccupancyGrid, low: Floats, high: Floats) -> tuple[tuple[slice, slice], Floats, Floats] | None:
    """Return the part of the grid between two corners, and the centres x (1, W) and y (H, 1) of its cells."""
    height, width = grid.cells.shape
    step = grid.resolution
    lowest, highest = grid.cells_at(np.stack((low, high)))
    first, last = np.maximum(lowest, 0), np.minimum(highest + 1, (width, height))
    if (first >= last).any():
        return None
    x = grid.origin[0] + step * (np.arange(first[0], last[0]) + 0.5)
    y = grid.origin[1] + step * (np.arange(first[1], last[1]) + 0.5)
    return (slice(first[1], last[1]), slice(first[0], last[0])), x[None], y[:, None]


def _fill_disc(grid: OccupancyGrid, x: float, y: float, radius: float) -> None:
    """Occupy the cells that a disc touches."""
    centre = np.array([x, y])
    window = _window(grid, centre - radius, centre + radius)
    if window is None or radius <= 0.0:
        return
    part, cells_x, cells_y = window
    half = _CORE * grid.resolution
    # The vector from the disc's centre to the nearest point of each cell.
    across = np.maximum(np.abs(cells_x - x) - half, 0.0)
    along = np.maximum(np.abs(cells_y - y) - half, 0.0)
    grid.cells[part][across * across + along * along <= radius * radius] = OCCUPIED


def _fill_polygon(grid: OccupancyGrid, corners: Floats, half: float = _CORE) -> None:
    """Mark the cells that overlap a convex polygon or a line: no side of either separates the two.

    `half` is half the side of the cells, in cells.
    """
    window = _window(grid, corners.min(axis=1), corners.max(axis=1))
    if window is None:
        return
    part, x, y = window
    half *= grid.resolution
    # The separating axis test of convex shapes. The window is the test along the sides of the cells.
    mask = np.ones((y.shape[0], x.shape[1]), np.bool_)
    for (ax, ay), (bx, by) in zip(corners.T, np.roll(corners, -1, axis=1).T, strict=True):
        out_x, out_y = by - ay, ax - bx
        mask &= (x - ax) * out_x + (y - ay) * out_y <= half * (abs(out_x) + abs(out_y))
    grid.cells[part][mask] = OCCUPIED


def _fill_walls(grid: OccupancyGrid, walls: Walls) -> None:
    """Occupy the cells that planes cross which are not level."""
    height, width = grid.cells.shape
    x = grid.origin[0] + grid.resolution * (np.arange(width)[None] + 0.5)
    y = grid.origin[1] + grid.resolution * (np.arange(height)[:, None] + 0.5)
    for normal, point in zip(walls.normals, walls.points, strict=True):
        # A level plane is parallel to the cut: it is the floor or a ceiling, not a wall.
        if math.hypot(normal[0], normal[1]) < 1e-6:
            continue
        off = (x - point[0]) * normal[0] + (y - point[1]) * normal[1] + (grid.z - point[2]) * normal[2]
        touched_mask = np.abs(off) <= 0.5 * grid.resolution * (abs(normal[0]) + abs(normal[1]))
        grid.cells[touched_mask] = OCCUPIED
