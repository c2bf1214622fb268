"""Rays in horizontal planes against outlines, for many sensors with the same rays at once.

Sensor by sensor, each outline in reach is drawn into the rays that can meet it: only these are computed. What a ray
hits first is the smallest of the ranges drawn at it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.kernels import Kernel, compiled_step, inlined
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.rotations import atan2
from fleet_sim.sensing.sensors.occupancy import Circles, Discs, Outlines, Polygons, Segments, Walls
from fleet_sim.world.columns import numbers_of

NOTHING = -1
TURN = 2.0 * np.pi
SLACK = 1e-9
"""Tolerance, in steps between rays, by which an outline is drawn beyond the angles it covers: edges that meet at a
corner both draw the ray through it."""
BRUTE_FORCE = 2_000_000
"""Number of combinations up to which comparing all of them is faster than a grid."""
EDGE_ON = 1e-9
"""Twice the area in m2 of the triangle of a sensor and an edge, up to which the edge is seen edge-on."""
Span: TypeAlias = tuple[int, int, int, int]
"""Where the rays of a sensor begin, the first and the end of some of them, and the row of what they meet."""


class Directions(NamedTuple):
    """Cosines and sines (M,) of the rays in the sensors' frames."""

    cosines: Floats
    sines: Floats


class Stations(NamedTuple):
    """Where N sensors are: x, y, z, the direction of their x axes, and `senses`: -1 for those upside down.

    `rows` are the entities whose own outlines they do not see, -1 for none.
    """

    rows: Rows
    x: Floats
    y: Floats
    z: Floats
    cosines: Floats
    sines: Floats
    senses: Floats


class Fan(NamedTuple):
    """M rays in the sensor's frame, at `first` + i * `step` rad, no longer than `reach`."""

    first: float
    step: float
    rays: int
    reach: float

    @property
    def angles(self) -> Floats:
        """The angles (M,) of the rays."""
        angles: Floats = np.arange(self.rays, dtype=np.float64)
        angles *= self.step
        angles += self.first
        return angles


class Hits(NamedTuple):
    """What the rays of N sensors met, (N, M) each.

    `ranges` in m, infinite where nothing is in reach; the entities' `rows` (-1: none); `cosines` of the angles between
    rays and the surfaces' normals. The last two are None unless asked for.
    """

    ranges: Floats
    rows: Rows | None
    cosines: Floats | None


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


class LaneViews(NamedTuple):
    """Room for what one sensor may see, (V,) each: two points in its frame, angles and rays, and rows of entities.

    See `_find_rays`.
    """

    ax: Floats
    ay: Floats
    bx: Floats
    by: Floats
    begins: Floats
    widths: Floats
    again: Floats
    owners: Floats


class Drawn(NamedTuple):
    """What is drawn so far at the rays of all sensors: `ranges` (N * M,), and `rows`, empty unless asked for."""

    ranges: Floats
    rows: Rows


class InGrid(NamedTuple):
    """Circles and a grid to find them in, with room for the numbers (N,) of those near a sensor, and for its views."""

    circles: Circles
    grid: CircleGrid
    near: Ints
    views: LaneViews


@inlined
def _near(stations: Stations, sensor: int, reach: float, around: InGrid) -> int:
    """Write the circles that a sensor can see into `around.near`, and return how many there are."""
    circles, grid, near, _ = around
    x, y, z, own = stations.x[sensor], stations.y[sensor], stations.z[sensor], stations.rows[sensor]
    # Clipped past either end, no column is left for a point beside the grid.
    first = min(max(np.floor((x - grid.furthest - grid.x) / grid.cell), 0.0), float(grid.columns))
    last = min(max(np.floor((x + grid.furthest - grid.x) / grid.cell), -1.0), grid.columns - 1.0)
    middle = np.floor((y - grid.y) / grid.cell)
    found = 0
    if first > last or not -4.0 < middle < grid.lines + 4.0:
        return found
    for line in range(max(int(middle) - 3, 0), min(int(middle) + 4, grid.lines)):
        begin = np.searchsorted(grid.cells, line * grid.columns + int(first))
        end = np.searchsorted(grid.cells, line * grid.columns + int(last) + 1)
        for place in range(begin, end):
            one = grid.order[place]
            across, along, limit = circles.x[one] - x, circles.y[one] - y, circles.radii[one] + reach
            if across * across + along * along < limit * limit and circles.lower[one] <= z <= circles.upper[one]:
                # Written in any case, and counted if it is not the sensor's own: that needs no branch.
                near[found] = one
                found += own != circles.rows[one]
    return found


@compiled_step
def draw_discs(
    stations: Stations, fan: Fan, around: InGrid, z: Floats, balls: Ints, directions: Directions, out: Drawn
) -> None:
    """Draw discs; of `balls` (D,) that are not 0 the radius is that at height `z` (D,)."""
    circles, near, views, circles_rows = around.circles, around.near, around.views, around.circles.rows
    xs, ys, squares = views.ax, views.ay, views.bx
    for sensor in range(len(stations.rows)):
        found = 0
        for place in range(_near(stations, sensor, fan.reach, around)):
            disc = near[place]
            across, along = circles.x[disc] - stations.x[sensor], circles.y[disc] - stations.y[sensor]
            off = stations.z[sensor] - z[disc] if balls[disc] else 0.0
            square = max(circles.radii[disc] * circles.radii[disc] - off * off, 0.0)
            distance = across * across + along * along
            xs[found], ys[found] = _local(stations, sensor, across, along)
            squares[found], views.by[found], views.owners[found] = square, distance, circles_rows[disc]
            # Nothing is seen from inside, nor of a ball that the plane misses.
            found += (distance > square) & (square > 0.0)
        for disc in range(found):
            # The sine of half the angle. (1 - s) * (1 + s) loses fewer digits than 1 - s * s.
            sine = math.sqrt(squares[disc] / views.by[disc])
            half = atan2(sine, math.sqrt((1.0 - sine) * (1.0 + sine)))
            views.begins[disc], views.widths[disc] = atan2(ys[disc], xs[disc]) - half, 2.0 * half
        _find_rays(fan, found, views)
        for disc in range(found):
            begin, end, again = int(views.begins[disc]), int(views.widths[disc]), int(views.again[disc])
            # The second time with the rays from 0 on, where the angle goes on beyond a full turn.
            for _ in range(2):
                where = sensor * fan.rays, begin, end, int(views.owners[disc])
                _draw_disc(where, xs[disc], ys[disc], squares[disc], directions, out)
                begin, end = 0, again


@inlined
def _draw_disc(where: Span, x: float, y: float, square: float, directions: Directions, out: Drawn) -> None:
    """Shorten the ranges of the rays of `where` to a disc at (x, y) in the sensor's frame, in m.

    `square` is that of its radius. Each of the rays must meet the disc: nothing is checked.
    """
    base, begin, end, owner = where
    for ray in range(begin, end):
        _keep_nearer(out.ranges, base + ray, _to_disc(x, y, square, ray, directions))
    if len(out.rows):
        for ray in range(begin, end):
            _keep_row(out, base + ray, _to_disc(x, y, square, ray, directions), owner)


@inlined
def _to_disc(x: float, y: float, square: float, ray: int, directions: Directions) -> float:
    """Return how far a ray goes to a disc."""
    cosines, sines = directions
    # The ray passes the centre at `offset`. Within the slack it may pass just beside the disc: then it touches.
    offset = x * sines[ray] - y * cosines[ray]
    rest = square - offset * offset
    depth = math.sqrt(rest if rest > 0.0 else 0.0)
    return x * cosines[ray] + y * sines[ray] - depth


@compiled_step
def draw_polygons(
    stations: Stations,
    fan: Fan,
    around: InGrid,
    first: Ints,
    sizes: Ints,
    corners: Floats,
    directions: Directions,
    out: Drawn,
) -> None:
    """Draw the edges of convex polygons that face the sensors; `first`, `sizes` and `corners` as in `Polygons`."""
    near, views = around.near, around.views
    for sensor in range(len(stations.rows)):
        x, y, found = stations.x[sensor], stations.y[sensor], 0
        for place in range(_near(stations, sensor, fan.reach, around)):
            begin, size = first[near[place]], sizes[near[place]]
            ax, ay = corners[0, begin + size - 1], corners[1, begin + size - 1]
            from_x, from_y = _local(stations, sensor, ax - x, ay - y)
            for at in range(begin, begin + size):
                bx, by = corners[0, at], corners[1, at]
                to_x, to_y = _local(stations, sensor, bx - x, by - y)
                normal_x, normal_y = by - ay, ax - bx
                # Above 0 if the sensor is on the outer side.
                side = x * normal_x + y * normal_y - (normal_x * ax + normal_y * ay)
                views.ax[found], views.ay[found], views.bx[found], views.by[found] = from_x, from_y, to_x, to_y
                views.owners[found] = around.circles.rows[near[place]]
                found += side > EDGE_ON
                ax, ay, from_x, from_y = bx, by, to_x, to_y
        _draw_edges(fan, sensor, found, views, directions, out)


@compiled_step
def draw_lines(
    stations: Stations, fan: Fan, around: InGrid, starts: Floats, ends: Floats, directions: Directions, out: Drawn
) -> None:
    """Draw lines from `starts` to `ends`, (2, N) each, seen from both sides."""
    near, views = around.near, around.views
    for sensor in range(len(stations.rows)):
        x, y, found = stations.x[sensor], stations.y[sensor], 0
        for place in range(_near(stations, sensor, fan.reach, around)):
            line = near[place]
            ax, ay = _local(stations, sensor, starts[0, line] - x, starts[1, line] - y)
            bx, by = _local(stations, sensor, ends[0, line] - x, ends[1, line] - y)
            views.ax[found], views.ay[found], views.bx[found], views.by[found] = ax, ay, bx, by
            views.owners[found] = around.circles.rows[line]
            found += abs(ax * by - ay * bx) > EDGE_ON
        _draw_edges(fan, sensor, found, views, directions, out)


@compiled_step
def draw_walls(stations: Stations, fan: Fan, walls: Walls, directions: Directions, out: Drawn) -> None:
    """Draw planes: they have no end, so each ray may hit them."""
    cosines, sines = directions
    for wall in range(len(walls.rows)):
        nx, ny, nz = walls.normals[wall, 0], walls.normals[wall, 1], walls.normals[wall, 2]
        px, py, pz = walls.points[wall, 0], walls.points[wall, 1], walls.points[wall, 2]
        # A floor is met by no level ray.
        if nx == 0.0 and ny == 0.0:
            continue
        for sensor in range(len(stations.rows)):
            if stations.rows[sensor] == walls.rows[wall]:
                continue
            x, y = _local(stations, sensor, nx, ny)
            off = nx * (stations.x[sensor] - px) + ny * (stations.y[sensor] - py) + nz * (stations.z[sensor] - pz)
            for ray in range(fan.rays):
                closing = -(x * cosines[ray] + y * sines[ray])
                # `off` is signed: a plane is met from both sides, by rays that come nearer to it.
                if closing * np.sign(off) > 1e-12:
                    place = sensor * fan.rays + ray
                    _keep_nearer(out.ranges, place, off / closing)
                    if len(out.rows):
                        _keep_row(out, place, off / closing, walls.rows[wall])


@compiled_step
def drop_beyond(out: Drawn, reach: float) -> None:
    """Leave nothing drawn beyond `reach`."""
    for place in range(len(out.ranges)):
        if out.ranges[place] > reach:
            out.ranges[place] = math.inf
            if len(out.rows):
                out.rows[place] = NOTHING


@inlined
def _local(stations: Stations, sensor: int, across: float, along: float) -> tuple[float, float]:
    """Return a vector of the world in the frame of a sensor."""
    cosine, sine = stations.cosines[sensor], stations.sines[sensor]
    return cosine * across + sine * along, stations.senses[sensor] * (cosine * along - sine * across)


@inlined
def _find_rays(fan: Fan, count: int, views: LaneViews) -> None:
    """Find the rays within `widths` rad from the angles `begins` on.

    The first ray goes to `begins`, the end of the rays to `widths`, and to `again` the end of the rays from 0 on that
    are in the rest, where the angle goes on beyond a full turn. All are whole numbers.
    """
    turn, last = TURN / fan.step, fan.rays - 1.0
    # No branches, so that several are computed at once; the same holds of the loops that find angles.
    for view in range(count):
        begin = views.begins[view] - fan.first
        begin -= TURN * np.floor(begin / TURN)
        low, high = begin / fan.step, (begin + views.widths[view]) / fan.step
        again = min(np.floor(high - turn + SLACK), last) + 1.0
        # Compared as floats: with tiny steps the numbers are beyond those of integers.
        views.begins[view] = min(max(np.ceil(low - SLACK), 0.0), fan.rays)
        views.widths[view] = min(np.floor(high + SLACK), last) + 1.0
        views.again[view] = again if high >= turn - SLACK else 0.0


@inlined
def _draw_edges(fan: Fan, sensor: int, count: int, views: LaneViews, directions: Directions, out: Drawn) -> None:
    """Draw the edges from (ax, ay) to (bx, by) in the sensor's frame."""
    for edge in range(count):
        views.begins[edge] = atan2(views.ay[edge], views.ax[edge])
    for edge in range(count):
        views.widths[edge] = atan2(views.by[edge], views.bx[edge])
    for edge in range(count):
        sweep = views.widths[edge] - views.begins[edge]
        # The shorter way round: no edge is wider than half a turn.
        sweep -= TURN * np.rint(sweep / TURN)
        views.begins[edge] = views.widths[edge] if sweep < 0.0 else views.begins[edge]
        views.widths[edge] = abs(sweep)
    _find_rays(fan, count, views)
    for edge in range(count):
        ax, ay = views.ax[edge], views.ay[edge]
        along_x, along_y = views.bx[edge] - ax, views.by[edge] - ay
        cross = ax * along_y - ay * along_x
        begin, end, again = int(views.begins[edge]), int(views.widths[edge]), int(views.again[edge])
        for _ in range(2):
            where = sensor * fan.rays, begin, end, int(views.owners[edge])
            _draw_edge(where, along_x, along_y, cross, directions, out)
            begin, end = 0, again


@inlined
def _draw_edge(where: Span, x: float, y: float, cross: float, directions: Directions, out: Drawn) -> None:
    """Shorten the ranges of rays to the line of an edge along (x, y), at `cross` over the sine of the angle to it."""
    base, begin, end, owner = where
    for ray in range(begin, end):
        _keep_nearer(out.ranges, base + ray, _to_line(x, y, cross, ray, directions))
    if len(out.rows):
        for ray in range(begin, end):
            _keep_row(out, base + ray, _to_line(x, y, cross, ray, directions), owner)


@inlined
def _to_line(x: float, y: float, cross: float, ray: int, directions: Directions) -> float:
    """Return how far a ray goes to the line of an edge along (x, y)."""
    cosines, sines = directions
    # The range along direction d to the line through a with direction e is (a x e) / (d x e).
    slant = cosines[ray] * y - sines[ray] * x
    return cross / slant if slant != 0.0 else math.inf


@inlined
def _keep_nearer(ranges: Floats, place: int, found: float) -> None:
    known = ranges[place]
    # As `np.minimum`: a number that is none stays. Chosen, not jumped over, so that several rays are drawn at once.
    ranges[place] = found if found < known or found != found else known


@inlined
def _keep_row(out: Drawn, place: int, found: float, owner: int) -> None:
    # Equality is exact: what is in front is a copy of the range that was drawn.
    if found == out.ranges[place]:
        out.rows[place] = owner


def cast(stations: Stations, fan: Fan, outlines: Outlines, *, details: bool = False, compiled: bool = False) -> Hits:
    """Return the hits of the rays of `fan` from each of `stations`, without angles to normals.

    A sensor does not see what it is inside of, nor the outlines of its own entity. With `details` the result
    also has the entities hit.
    """
    count = len(stations.rows) * fan.rays
    known = count if details else 0
    out = Drawn(np.full(count, np.inf), np.full(known, NOTHING, np.int64))
    sines, cosines = trig.sin_cos(fan.angles)
    shared = Directions(cosines, sines), out

    def draw(kernel: Kernel[..., None], *what: Any) -> None:
        given = (stations, fan, *what, *shared)
        kernel(*given) if compiled else kernel.in_python(*map(numbers_of, given))

    draw(draw_walls, outlines.walls)
    discs, polygons, segments = outlines.discs, outlines.polygons, outlines.segments
    for around in _in_grids(stations, fan, discs, len(discs.circles.rows)):
        draw(draw_discs, around, discs.z, discs.ball_mask.astype(np.int64))
    for around in _in_grids(stations, fan, polygons, polygons.corners.shape[1]):
        draw(draw_polygons, around, polygons.first, polygons.sizes, np.ascontiguousarray(polygons.corners))
    for around in _in_grids(stations, fan, segments, len(segments.circles.rows)):
        draw(draw_lines, around, np.ascontiguousarray(segments.starts), np.ascontiguousarray(segments.ends))
    if compiled:
        drop_beyond(out, fan.reach)
    else:
        drop_beyond.in_python(numbers_of(out), fan.reach)
    shape = len(stations.rows), fan.rays
    return Hits(out.ranges.reshape(shape), out.rows.reshape(shape) if details else None, None)


def _in_grids(stations: Stations, fan: Fan, outlines: Discs | Polygons | Segments, most: int) -> Iterator[InGrid]:
    """Yield the circles around outlines and grids to find them in, with room for what is near a sensor.

    That is for the numbers of outlines, and for `most` views of their parts.
    """
    circles = outlines.circles
    if len(circles.rows):
        # One more, written where nothing is found.
        near, views = np.empty(len(circles.rows), np.int64), LaneViews(*np.empty((8, most + 1)))
        for grid in grids_of(len(stations.rows), fan.reach, circles.x, circles.y, circles.radii):
            yield InGrid(circles, grid, near, views)


def grids_of(points: int, reach: float, x: Floats, y: Floats, radii: Floats) -> list[CircleGrid]:
    """Return grids in which the circles within `reach` of a number of `points` are found.

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
