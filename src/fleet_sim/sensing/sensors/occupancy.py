"""Occupancy grids of what does not move: a map that agrees with what a lidar at the same height sees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows, as_float, as_floats, ragged_range
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.sensors.solids import PlacedSurface, Solids, solids_of, surfaces_of
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.world import World

# Cuts of tilted solids by a horizontal plane: convex polygons.


SIDES = 144
"""Corners that stand for a round outline."""

Cut = tuple[Floats, Ints]
"""Corners (2, N, K) counter-clockwise, and how many of the K count (N,): 0 where the plane misses."""

_BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
# Corner numbers are three bits, one per axis: an edge joins corners that differ in one bit.
_BOX_EDGES = np.array([(a, b) for a in range(8) for b in range(a) if bin(a ^ b).count("1") == 1])
_SINES, _COSINES = trig.sin_cos(np.arange(SIDES) * (2.0 * np.pi / SIDES))
_RIM = np.concatenate([np.stack((_COSINES, _SINES, np.full(SIDES, side))) for side in (-1.0, 1.0)], axis=1).T
_RIM_EDGES = np.concatenate(
    [
        np.stack((np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES), axis=1),
        np.stack((np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES), axis=1) + SIDES,
        np.stack((np.arange(SIDES), np.arange(SIDES) + SIDES), axis=1),
    ]
)


def cut_boxes(solids: Solids, height: float) -> Cut:
    """Return where the plane at `height` cuts boxes."""
    return cut_hulls(posed(solids, _BOX_CORNERS[None] * solids.half_extents[:, None]), _BOX_EDGES, height)


def cut_cylinders(solids: Solids, height: float) -> Cut:
    """Return where the plane at `height` cuts cylinders, which have `SIDES` sides for that."""
    return cut_hulls(posed(solids, _RIM[None] * solids.half_extents[:, None]), _RIM_EDGES, height)


def posed(solids: Solids, points: Floats) -> Floats:
    """Return `points` (N, V, 3), or (1, V, 3) where all have the same, of the solids' frames in the world."""
    count, each = len(solids.rows), points.shape[1]
    local = np.broadcast_to(points, (count, each, 3)).reshape(-1, 3)
    turned = quaternions.rotate(np.repeat(solids.orientations, each, axis=0), local)
    return turned.reshape(count, each, 3) + solids.positions[:, None]


def cut_hulls(vertices: Floats, edges: Ints, height: float) -> Cut:
    """Return where the plane at `height` cuts convex bodies with `vertices` (N, V, 3) and `edges` (E, 2)."""
    # A vertex exactly at the height counts as above. So every edge is crossed or not, without a third case, and a
    # crossed one is never level.
    below_mask = vertices[..., 2] < height
    # Few edges are crossed: only these are computed.
    bodies, crossed = np.nonzero(below_mask[:, edges[:, 0]] != below_mask[:, edges[:, 1]])
    starts, ends = vertices[bodies, edges[crossed, 0]], vertices[bodies, edges[crossed, 1]]
    share = (height - starts[:, 2]) / (ends[:, 2] - starts[:, 2])
    x, y = (starts[:, axis] + share * (ends[:, axis] - starts[:, axis]) for axis in (0, 1))
    counts = np.bincount(bodies, minlength=len(vertices))
    # The cut of a convex body is convex, so sorting its corners by angle around their mean gives the outline.
    many = np.maximum(counts, 1)
    middle_x, middle_y = (np.bincount(bodies, part, minlength=len(vertices)) / many for part in (x, y))
    angles = trig.arctan2(y - middle_y.take(bodies), x - middle_x.take(bodies))
    order = np.lexsort((angles, bodies))
    # The bodies are in order already, and stay so.
    places = np.arange(len(bodies)) - (np.cumsum(counts) - counts).take(bodies)
    corners = np.zeros((2, len(vertices), max(3, int(counts.max(initial=0)))))
    corners[0, bodies, places], corners[1, bodies, places] = x.take(order), y.take(order)
    return corners, counts


def cut_capsules(solids: Solids, height: float) -> Cut:
    """Return where the plane at `height` cuts capsules: the outermost points in `SIDES` directions.

    A capsule is a ball that moves along its axis. Of its discs at `height` the one that reaches furthest in a direction
    is where the gain along the axis and the loss of radius are in balance.
    """
    radii = solids.radii
    reach = solids.half_extents[:, 2] - radii
    axes = quaternions.rotate(solids.orientations, np.tile(np.array([0.0, 0.0, 1.0]), (len(radii), 1)))
    rise = axes[:, 2]
    off = height - solids.positions[:, 2]
    # Along the axis, the ball's centre is within its radius of the plane between `low` and `high`.
    # A level capsule has no rise. With a tiny one the bounds are far away, and the ends of the axis limit them.
    steep = np.where(np.abs(rise) < 1e-9, 1e-9, rise)
    bounds = np.stack(((off - radii) / steep, (off + radii) / steep))
    low, high = np.maximum(bounds.min(axis=0), -reach), np.minimum(bounds.max(axis=0), reach)
    counts = np.where(low <= high, SIDES, 0)
    gain = axes[:, 0, None] * _COSINES + axes[:, 1, None] * _SINES
    balance = -gain * radii[:, None] / np.sqrt(gain * gain + (steep * steep)[:, None]) * np.sign(steep)[:, None]
    along = np.clip((off[:, None] - balance) / steep[:, None], low[:, None], high[:, None])
    drop = off[:, None] - steep[:, None] * along
    widths = np.sqrt(np.maximum(radii[:, None] ** 2 - drop * drop, 0.0))
    corners = np.empty((2, len(radii), SIDES))
    corners[0] = solids.positions[:, 0, None] + along * axes[:, 0, None] + widths * _COSINES
    corners[1] = solids.positions[:, 1, None] + along * axes[:, 1, None] + widths * _SINES
    return corners, counts


# Outlines: what solids look like in a horizontal plane, as discs and polygons. Upright solids have one outline over
# their whole height, so they serve planes at all heights at once; spheres are discs whose radius depends on the
# height; what is tilted is cut at each height that is asked for. Surfaces are cut into lines.


_BOX, _SPHERE, _CYLINDER, _CAPSULE, _PLANE, _MESH = (
    np.uint8(kind)
    for kind in (
        *(ShapeKind.BOX, ShapeKind.SPHERE, ShapeKind.CYLINDER),
        *(ShapeKind.CAPSULE, ShapeKind.PLANE, ShapeKind.MESH),
    )
)
# x^2 + y^2 of a quaternion below this is a tilt below 1e-6 rad.
_UPRIGHT = 2.5e-13
_CORNERS_X = np.array([1.0, -1.0, -1.0, 1.0])
_CORNERS_Y = np.array([1.0, 1.0, -1.0, -1.0])


class Circles(NamedTuple):
    """Circles around N outlines of entities `rows`, and the heights from `lower` to `upper` they fill, (N,) each."""

    rows: Rows
    x: Floats
    y: Floats
    radii: Floats
    lower: Floats
    upper: Floats

    def take(self, kept: Ints) -> Circles:
        """Return the circles with the numbers `kept` (K,)."""
        rows, x, y, radii, lower, upper = self
        return Circles(rows[kept], x[kept], y[kept], radii[kept], lower[kept], upper[kept])


class Discs(NamedTuple):
    """Discs, which are their circles.

    Where `ball_mask` is set, the radius is that at height `z`, and it shrinks away from there as a ball's does.
    """

    circles: Circles
    z: Floats
    ball_mask: Bools

    def squares_at(self, indices: Ints, heights: Floats) -> Floats:
        """Return the squared radii (K,) of the discs at `indices` at `heights` (K,)."""
        squares = self.circles.radii[indices] ** 2
        off = np.where(self.ball_mask[indices], heights - self.z[indices], 0.0)
        return np.maximum(squares - off * off, 0.0)


class Polygons(NamedTuple):
    """Convex polygons, counter-clockwise: polygon i has the corners `corners[:, first[i] : first[i] + sizes[i]]`."""

    circles: Circles
    first: Ints
    sizes: Ints
    corners: Floats


class Walls(NamedTuple):
    """Planes of entities `rows` (N,): unit normals (N, 3) and the points (N, 3) they go through; they have no end."""

    rows: Rows
    normals: Floats
    points: Floats


class Segments(NamedTuple):
    """Cuts of surfaces: lines from `starts` to `ends`, (2, N) each, seen from both sides.

    `lower` and `upper` of their circles are both the height of the cut.
    """

    circles: Circles
    starts: Floats
    ends: Floats


_NONE, _NO_POINTS = np.empty(0), np.empty((2, 0))
_NO_SEGMENTS = Segments(Circles(NO_ROWS, *[_NONE] * 5), _NO_POINTS, _NO_POINTS)


class Outlines(NamedTuple):
    """All that can be seen in horizontal planes."""

    discs: Discs
    polygons: Polygons
    walls: Walls
    segments: Segments


def outlines_of(solids: Solids, surfaces: Sequence[PlacedSurface], heights: Floats) -> Outlines:
    """Return the outlines of `solids` and `surfaces` in the horizontal planes at `heights` (K,)."""
    x, y, z, w = np.ascontiguousarray(solids.orientations.T)
    # The product is sin^2(tilt) / 4: it is near 0 both upright and upside down.
    upright_mask = (x * x + y * y) * (z * z + w * w) < _UPRIGHT
    kinds = solids.kinds
    upright_mask |= kinds == _SPHERE
    flat_mask = kinds == _PLANE
    hull_mask = kinds == _MESH
    hull_mask[hull_mask] = [hull is not None for hull in solids.hulls[hull_mask].tolist()]
    # Compounds, and meshes without a hull, count as the box around them.
    box_mask = ((kinds == _BOX) | (kinds > _PLANE)) & ~hull_mask
    round_mask = ~(box_mask | flat_mask | hull_mask)
    discs = _upright_discs(solids.take(np.flatnonzero(upright_mask & round_mask)))
    polygons = [_upright_boxes(solids.take(np.flatnonzero(upright_mask & box_mask)))]
    if hull_mask.any():
        polygons += _cut_meshes(solids.take(np.flatnonzero(hull_mask)), heights)
    # Only what is neither upright, flat nor a mesh has to be cut again for each height.
    tilted_mask = ~(upright_mask | flat_mask | hull_mask)
    if tilted_mask.any():
        cuts = ((box_mask, cut_boxes), (kinds == _CYLINDER, cut_cylinders), (kinds == _CAPSULE, cut_capsules))
        for height in np.unique(heights).tolist():
            for mask, cut in cuts:
                chosen = np.flatnonzero(tilted_mask & mask)
                if len(chosen):
                    part = solids.take(chosen)
                    polygons.append(_polygons(part.rows, *cut(part, height), height))
    walls = _walls(solids.take(np.flatnonzero(flat_mask)))
    return Outlines(discs, _joined(polygons), walls, _segments(surfaces, heights))


def _cut_meshes(solids: Solids, heights: Floats) -> list[Polygons]:
    """Return where the planes at `heights` cut meshes, those of one hull at once."""
    found = []
    # Equal meshes share one hull through its cache, so identity tells which pieces can be cut in one call.
    z, hulls = solids.positions[:, 2], {id(hull): hull for hull in solids.hulls.tolist()}
    numbers = np.array([id(hull) for hull in solids.hulls.tolist()])
    for height in np.unique(heights).tolist():
        for number, hull in hulls.items():
            near = np.flatnonzero((numbers == number) & (np.abs(z - height) <= hull.radius))
            if len(near):
                part = solids.take(near)
                corners, counts = cut_hulls(posed(part, hull.vertices[None]), hull.edges, height)
                found.append(_polygons(part.rows, corners, counts, height))
    return found


def _segments(surfaces: Sequence[PlacedSurface], heights: Floats) -> Segments:
    """Return where the planes at `heights` cut surfaces."""
    if not surfaces:
        return _NO_SEGMENTS
    rows, starts, ends, levels = [NO_ROWS], [_NO_POINTS], [_NO_POINTS], [_NONE]
    for height in np.unique(heights).tolist():
        for placed in surfaces:
            start, end = placed.surface.cut(height)
            count = start.shape[1]
            rows.append(np.full(count, placed.row))
            levels.append(np.full(count, height))
            starts.append(start)
            ends.append(end)
    start, end = np.concatenate(starts, axis=1), np.concatenate(ends, axis=1)
    level, (x, y) = np.concatenate(levels), 0.5 * (start + end)
    radii = 0.5 * trig.hypot(*(end - start))
    return Segments(Circles(np.concatenate(rows), x, y, radii, level, level), start, end)


def _upright_discs(solids: Solids) -> Discs:
    """Return spheres and cylinders as one disc each, capsules as a cylinder and two balls."""
    x, y, z = np.ascontiguousarray(solids.positions.T)
    halves = solids.half_extents[:, 2]
    ball_mask = solids.kinds == _SPHERE
    capsules = np.flatnonzero(solids.kinds == _CAPSULE)
    reach = halves.copy()
    # The cylindrical part only; the loop below adds the two halves of balls.
    reach[capsules] -= solids.radii[capsules]
    plain = Discs(Circles(solids.rows, x, y, solids.radii, z - reach, z + reach), z, ball_mask)
    if not len(capsules):
        return plain
    ends = []
    for sign in (-1.0, 1.0):
        height = z[capsules] + sign * reach[capsules]
        radii = solids.radii[capsules]
        outer = height + sign * radii
        # Each ball fills only its outer half, so that no height has two discs of one capsule.
        lower, upper = np.minimum(height, outer), np.maximum(height, outer)
        whole_mask = np.ones(len(capsules), np.bool_)
        circles = Circles(solids.rows[capsules], x[capsules], y[capsules], radii, lower, upper)
        ends.append(Discs(circles, height, whole_mask))
    parts = [plain, *ends]
    return Discs(
        _joined_circles([part.circles for part in parts]),
        np.concatenate([part.z for part in parts]),
        np.concatenate([part.ball_mask for part in parts]),
    )


def _upright_boxes(solids: Solids) -> Polygons:
    """Return boxes that stand upright as polygons of four corners."""
    qx, qy, qz, qw = np.ascontiguousarray(solids.orientations.T)
    # The direction of the body's x axis; of a box upside down it is as good.
    cosines, sines = 1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qw * qz + qx * qy)
    lengths, widths, heights = np.ascontiguousarray(solids.half_extents.T)
    x, y, z = np.ascontiguousarray(solids.positions.T)
    corners = np.empty((2, len(solids.rows), 4))
    for corner in range(4):
        forward, left = _CORNERS_X[corner] * lengths, _CORNERS_Y[corner] * widths
        corners[0, :, corner] = x + (cosines * forward - sines * left)
        corners[1, :, corner] = y + (sines * forward + cosines * left)
    count = np.full(len(solids.rows), 4, np.int64)
    first = 4 * np.arange(len(solids.rows))
    radii = np.sqrt(lengths * lengths + widths * widths)
    circles = Circles(solids.rows, x, y, radii, z - heights, z + heights)
    return Polygons(circles, first, count, corners.reshape(2, -1))


def _polygons(rows: Rows, corners: Floats, counts: Ints, height: float) -> Polygons:
    """Return polygons from corners (2, N, K), the first `counts` (N,) of each; those without are left out."""
    kept = np.flatnonzero(counts >= 3)
    corners, counts = corners[:, kept], counts[kept]
    used_mask = np.arange(corners.shape[2]) < counts[:, None]
    x, y = (np.where(used_mask, part, 0.0).sum(axis=1) / np.maximum(counts, 1) for part in corners)
    away = np.where(used_mask, trig.hypot(corners[0] - x[:, None], corners[1] - y[:, None]), 0.0)
    # Valid at this height only. Sensors compare their own height with it for equality, and it is one of theirs.
    level = np.full(len(kept), height)
    first = np.cumsum(counts) - counts
    radii = away.max(axis=1, initial=0.0)
    return Polygons(Circles(rows[kept], x, y, radii, level, level), first, counts, corners[:, used_mask])


def _joined(parts: list[Polygons]) -> Polygons:
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([part.sizes for part in parts])
    corners = np.concatenate([part.corners for part in parts], axis=1)
    # `corners` are joined end to end, so every polygon begins elsewhere now.
    return Polygons(_joined_circles([part.circles for part in parts]), np.cumsum(sizes) - sizes, sizes, corners)


def _joined_circles(parts: list[Circles]) -> Circles:
    return Circles(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _walls(solids: Solids) -> Walls:
    up = np.tile(np.array([0.0, 0.0, 1.0]), (len(solids.rows), 1))
    return Walls(solids.rows, quaternions.rotate(solids.orientations, up), solids.positions)


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
