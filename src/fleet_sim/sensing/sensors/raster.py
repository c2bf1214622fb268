"""Rays in horizontal planes against outlines, for many sensors with the same rays at once.

Each outline is drawn into the angles it covers, as seen from each sensor that it is near: only rays that can hit it are
computed. What a ray hits first is the smallest of the ranges drawn at it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.kernels import atan2, compiled_step, inlined
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.sensing.sensors.fans import (
    SLACK,
    TURN,
    CircleGrid,
    Drawing,
    Fan,
    Hits,
    Stations,
    grids_of,
    lanes_of,
    pairs_in_reach,
    ragged_range,
)
from fleet_sim.sensing.sensors.occupancy import Circles, Discs, Outlines, Polygons, Segments, Walls

# Rays in horizontal planes against outlines, by compiled code, with the bits of `raster` and `edges`. Sensor by
# sensor, each outline in reach is drawn into the rays that can meet it. Nothing is kept between the two, so a crowd
# needs no horizon.


EDGE_ON = 1e-9
"""Twice the area in m2 of the triangle of a sensor and an edge, up to which the edge is seen edge-on."""
Directions: TypeAlias = tuple[Floats, Floats]
"""Cosines and sines (M,) of the rays in the sensors' frames."""


class LaneViews(NamedTuple):
    """Room for what one sensor may see, (V,) each: two points in its frame, angles and rays, see `_find_rays`."""

    ax: Floats
    ay: Floats
    bx: Floats
    by: Floats
    begins: Floats
    widths: Floats
    again: Floats


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
    # As in `nearby`: clipped past either end, no column is left for a point beside the grid.
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
    stations: Stations,
    fan: Fan,
    around: InGrid,
    z: Floats,
    balls: Ints,
    directions: Directions,
    ranges: Floats,
) -> None:
    """Draw discs into `ranges` (N * M,); of `balls` (D,) that are not 0 the radius is that at height `z` (D,)."""
    circles, near, views = around.circles, around.near, around.views
    xs, ys, squares = views.ax, views.ay, views.bx
    for sensor in range(len(stations.x)):
        found = 0
        for place in range(_near(stations, sensor, fan.reach, around)):
            disc = near[place]
            across, along = circles.x[disc] - stations.x[sensor], circles.y[disc] - stations.y[sensor]
            off = stations.z[sensor] - z[disc] if balls[disc] else 0.0
            square = max(circles.radii[disc] * circles.radii[disc] - off * off, 0.0)
            distance = across * across + along * along
            xs[found], ys[found] = _local(stations, sensor, across, along)
            squares[found], views.by[found] = square, distance
            # As in `raster`: nothing is seen from inside, nor of a ball that the plane misses.
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
                _draw_disc(sensor * fan.rays, begin, end, xs[disc], ys[disc], squares[disc], directions, ranges)
                begin, end = 0, again


@inlined
def _draw_disc(
    base: int, begin: int, end: int, x: float, y: float, square: float, directions: Directions, ranges: Floats
) -> None:
    """Shorten the `ranges` of the rays begin ... end to a disc at (x, y) in the sensor's frame, in m.

    `square` is that of its radius. Each of the rays must meet the disc: nothing is checked.
    """
    cosines, sines = directions
    for ray in range(begin, end):
        offset = x * sines[ray] - y * cosines[ray]
        rest = square - offset * offset
        depth = math.sqrt(rest if rest > 0.0 else 0.0)
        _keep_nearer(ranges, base + ray, x * cosines[ray] + y * sines[ray] - depth)


@compiled_step
def draw_polygons(
    stations: Stations,
    fan: Fan,
    around: InGrid,
    first: Ints,
    sizes: Ints,
    corners: Floats,
    directions: Directions,
    ranges: Floats,
) -> None:
    """Draw the edges of convex polygons that face the sensors; `first`, `sizes` and `corners` as in `Polygons`."""
    near, views = around.near, around.views
    for sensor in range(len(stations.x)):
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
                found += side > EDGE_ON
                ax, ay, from_x, from_y = bx, by, to_x, to_y
        _draw_edges(fan, sensor, found, views, directions, ranges)


@compiled_step
def draw_lines(
    stations: Stations,
    fan: Fan,
    around: InGrid,
    starts: Floats,
    ends: Floats,
    directions: Directions,
    ranges: Floats,
) -> None:
    """Draw lines from `starts` to `ends`, (2, N) each, seen from both sides."""
    near, views = around.near, around.views
    for sensor in range(len(stations.x)):
        x, y, found = stations.x[sensor], stations.y[sensor], 0
        for place in range(_near(stations, sensor, fan.reach, around)):
            line = near[place]
            ax, ay = _local(stations, sensor, starts[0, line] - x, starts[1, line] - y)
            bx, by = _local(stations, sensor, ends[0, line] - x, ends[1, line] - y)
            views.ax[found], views.ay[found], views.bx[found], views.by[found] = ax, ay, bx, by
            found += abs(ax * by - ay * bx) > EDGE_ON
        _draw_edges(fan, sensor, found, views, directions, ranges)


@compiled_step
def draw_walls(stations: Stations, fan: Fan, walls: Walls, directions: Directions, ranges: Floats) -> None:
    """Draw planes: they have no end, so each ray may hit them."""
    cosines, sines = directions
    for wall in range(len(walls.rows)):
        nx, ny, nz = walls.normals[wall, 0], walls.normals[wall, 1], walls.normals[wall, 2]
        px, py, pz = walls.points[wall, 0], walls.points[wall, 1], walls.points[wall, 2]
        # A floor is met by no level ray.
        if nx == 0.0 and ny == 0.0:
            continue
        for sensor in range(len(stations.x)):
            if stations.rows[sensor] == walls.rows[wall]:
                continue
            x, y = _local(stations, sensor, nx, ny)
            off = nx * (stations.x[sensor] - px) + ny * (stations.y[sensor] - py) + nz * (stations.z[sensor] - pz)
            for ray in range(fan.rays):
                closing = -(x * cosines[ray] + y * sines[ray])
                if closing * np.sign(off) > 1e-12:
                    _keep_nearer(ranges, sensor * fan.rays + ray, off / closing)


@compiled_step
def drop_beyond(ranges: Floats, reach: float) -> None:
    """Make `ranges` (N * M,) beyond `reach` infinite."""
    for place in range(len(ranges)):
        if ranges[place] > reach:
            ranges[place] = math.inf


@inlined
def _local(stations: Stations, sensor: int, across: float, along: float) -> tuple[float, float]:
    """Return a vector of the world in the frame of a sensor, as `Stations.local`."""
    cosine, sine = stations.cosines[sensor], stations.sines[sensor]
    return cosine * across + sine * along, stations.senses[sensor] * (cosine * along - sine * across)


@inlined
def _find_rays(fan: Fan, count: int, views: LaneViews) -> None:
    """Find the rays within `widths` rad from the angles `begins` on, as `spans_of` does.

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
def _draw_edges(fan: Fan, sensor: int, count: int, views: LaneViews, directions: Directions, ranges: Floats) -> None:
    """Draw the edges from (ax, ay) to (bx, by) in the sensor's frame, as `draw_edges`."""
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
            _draw_edge(sensor * fan.rays, begin, end, along_x, along_y, cross, directions, ranges)
            begin, end = 0, again


@inlined
def _draw_edge(
    base: int, begin: int, end: int, x: float, y: float, cross: float, directions: Directions, ranges: Floats
) -> None:
    cosines, sines = directions
    for ray in range(begin, end):
        _keep_nearer(ranges, base + ray, cross / (cosines[ray] * y - sines[ray] * x))


@inlined
def _keep_nearer(ranges: Floats, place: int, found: float) -> None:
    known = ranges[place]
    # As `np.minimum`: a number that is none stays. Chosen, not jumped over, so that several rays are drawn at once.
    ranges[place] = found if found < known or found != found else known


# Casting the rays of level sensors by compiled code: what the kernels of `compiled_lanes` are called with.


def cast_compiled(stations: Stations, fan: Fan, outlines: Outlines) -> Hits:
    """Return the ranges of the rays of `fan` from each of `stations`, those of `raster.cast` without details."""
    ranges = np.full(len(stations.x) * fan.rays, np.inf)
    sines, cosines = trig.sin_cos(fan.angles)
    directions = cosines, sines
    draw_walls(stations, fan, outlines.walls, directions, ranges)
    discs, polygons, segments = outlines.discs, outlines.polygons, outlines.segments
    for around in _in_grids(stations, fan, discs, len(discs.circles.rows)):
        balls = discs.ball_mask.astype(np.int64)
        draw_discs(stations, fan, around, discs.z, balls, directions, ranges)
    for around in _in_grids(stations, fan, polygons, polygons.corners.shape[1]):
        forms = polygons.first, polygons.sizes, np.ascontiguousarray(polygons.corners)
        draw_polygons(stations, fan, around, *forms, directions, ranges)
    for around in _in_grids(stations, fan, segments, len(segments.circles.rows)):
        ends = np.ascontiguousarray(segments.starts), np.ascontiguousarray(segments.ends)
        draw_lines(stations, fan, around, *ends, directions, ranges)
    drop_beyond(ranges, fan.reach)
    return Hits(ranges.reshape(len(stations.x), fan.rays), None, None)


def _in_grids(stations: Stations, fan: Fan, outlines: Discs | Polygons | Segments, most: int) -> Iterator[InGrid]:
    """Yield the circles around outlines and grids to find them in, with room for what is near a sensor.

    That is for the numbers of outlines, and for `most` views of their parts.
    """
    circles = outlines.circles
    if len(circles.rows):
        # One more, written where nothing is found.
        near, views = np.empty(len(circles.rows), np.int64), LaneViews(*np.empty((7, most + 1)))
        for grid in grids_of(len(stations.x), fan.reach, circles.x, circles.y, circles.radii):
            yield InGrid(circles, grid, near, views)


# Draws edges: straight lines between two points in a horizontal plane, sides of bodies or cuts of surfaces.


def draw_segments(drawing: Drawing, segments: Segments, sensors: Ints, shapes: Ints) -> None:
    """Draw the segments `shapes` (K,) as `sensors` (K,) see them."""
    stations = drawing.stations
    x, y = stations.x.take(sensors), stations.y.take(sensors)
    start = stations.local(sensors, segments.starts[0].take(shapes) - x, segments.starts[1].take(shapes) - y)
    end = stations.local(sensors, segments.ends[0].take(shapes) - x, segments.ends[1].take(shapes) - y)
    # Seen edge-on, a line covers no angle; from a point on it, it has no side.
    seen = np.flatnonzero(np.abs(start[0] * end[1] - start[1] * end[0]) > EDGE_ON)
    start, end = (start[0].take(seen), start[1].take(seen)), (end[0].take(seen), end[1].take(seen))
    draw_edges(drawing, sensors.take(seen), start, end, segments.circles.rows.take(shapes.take(seen)))


def draw_edges(
    drawing: Drawing, sensors: Ints, a: tuple[Floats, Floats], b: tuple[Floats, Floats], owners: Rows
) -> None:
    """Draw edges between points given in the sensors' frames."""
    (ax, ay), (bx, by) = a, b
    ex, ey = bx - ax, by - ay
    crossed = ax * ey - ay * ex
    from_a, from_b = trig.arctan2(ay, ax), trig.arctan2(by, bx)
    sweeps = from_b - from_a
    # An edge covers less than half a turn, so the shorter way round is the right one.
    sweeps -= TURN * np.round(sweeps / TURN)
    # Facing edges run clockwise as seen from upright sensors, but counter-clockwise from those upside down; cuts of
    # surfaces run either way.
    begins = np.where(sweeps < 0.0, from_b, from_a)
    lengths = np.sqrt(ex * ex + ey * ey) if drawing.details else ex
    for lanes in lanes_of(drawing, sensors, begins, np.abs(sweeps)):
        pairs = lanes.pairs
        # The range along direction d to the line through a with direction e is (a x e) / (d x e).
        slants = lanes.cosines * ey.take(pairs)
        slants -= lanes.sines * ex.take(pairs)
        ranges = crossed.take(pairs) / slants
        if drawing.details:
            drawing.draw(lanes.places, ranges, owners.take(pairs), np.abs(slants) / lengths.take(pairs))
        else:
            drawing.draw(lanes.places, ranges)


# Horizons: an upper bound of each sensor's ranges by direction, so that hidden bodies need not be rasterised.


SECTORS = 64
_WIDTH = 2.0 * np.pi / SECTORS
_WIDEST = 4
"""Number of sectors that are looked up. A circle that covers more counts as visible."""


class Horizon:
    """The largest range of the rays of N sensors, by sector of the full circle around each, (N, SECTORS).

    Sectors without rays see nothing.
    """

    def __init__(self, ranges: Floats, angles: Floats) -> None:
        """Summarise `ranges` (N, M) of rays at `angles` (M,) in the sensors' frames."""
        sectors = np.floor(angles / _WIDTH).astype(np.int64) % SECTORS
        order = np.argsort(sectors, kind="stable")
        # `reduceat` needs the rays of a sector side by side.
        starts = np.flatnonzero(np.diff(sectors[order], prepend=-1))
        self._furthest = np.full((len(ranges), SECTORS), -np.inf)
        # A ray that hits nothing has an infinite range, so its sector hides nothing.
        self._furthest[:, sectors[order[starts]]] = np.maximum.reduceat(ranges[:, order], starts, axis=1)

    def hidden_mask(self, sensors: Ints, x: Floats, y: Floats, distances: Floats, radii: Floats) -> Bools:
        """Return which circles (K,), given in the frames of `sensors` (K,), are hidden behind the horizon."""
        furthest = self._furthest.reshape(-1)
        angles = trig.arctan2(y, x)
        halves = trig.arcsin(np.minimum(radii / np.maximum(distances, 1e-12), 1.0))
        first = np.floor((angles - halves) / _WIDTH).astype(np.int64)
        span = np.floor((angles + halves) / _WIDTH).astype(np.int64) - first
        base = sensors * SECTORS
        limit = furthest.take(base + first % SECTORS)
        # The maximum over all sectors the circle covers: it must be hidden in each. Narrow circles look up their last
        # sector again, which changes nothing.
        for step in range(1, _WIDEST):
            np.maximum(limit, furthest.take(base + (first + np.minimum(step, span)) % SECTORS), out=limit)
        hidden_mask: Bools = distances - radii > limit + 1e-9
        hidden_mask &= span < _WIDEST
        return hidden_mask


Shapes: TypeAlias = Discs | Polygons | Segments

_PAIRS = 1 << 13
"""Pairs of a sensor and an outline computed at once, few enough to stay in the processor's cache."""
_CROWD = 150
"""Number of outlines per sensor up to which drawing all is faster than finding the hidden ones."""
_SHELLS = (-np.inf, 0.4, np.inf)
"""Bounds of the distance shells in which a crowd is drawn, nearest first, as fractions of the reach."""


def cast(stations: Stations, fan: Fan, outlines: Outlines, *, details: bool = False, compiled: bool = False) -> Hits:
    """Return the hits of the rays of `fan` from each of `stations`.

    A sensor does not see what it is inside of, nor the outlines of its own entity. With `details` the result
    also has the entities hit and the angles of incidence. With `compiled`, compiled code draws what needs no details;
    hits are the same.
    """
    if compiled and not details:
        return cast_compiled(stations, fan, outlines)
    drawing = Drawing(stations, fan, details=details)
    # Walls come first: the horizon of the second shell then knows what they hide.
    _draw_walls(drawing, outlines.walls)
    sights = [
        (shapes, _raster_near(drawing, shapes))
        for shapes in (outlines.discs, outlines.polygons, outlines.segments)
        if len(shapes.circles.rows)
    ]
    if sum(len(near.sensors) for _, near in sights) <= _CROWD * len(stations.x):
        for shapes, near in sights:
            _draw(drawing, shapes, near)
        return drawing.hits()
    # The nearest shell has no horizon yet. What it draws is the horizon that hides outlines of the next one.
    for low, high in pairwise(_SHELLS):
        bounds = low * fan.reach, high * fan.reach
        horizon = None if low < 0.0 else Horizon(drawing.ranges.reshape(-1, fan.rays), fan.angles)
        for shapes, near in sights:
            _draw(drawing, shapes, _in_shell(stations, shapes, near, *bounds, horizon))
    return drawing.hits()


class Sights(NamedTuple):
    """Pairs (K,) of a sensor and an outline near it, and the distance between the sensor and the outline's middle."""

    sensors: Ints
    shapes: Ints
    distances: Floats

    def take(self, indices: Ints) -> Sights:
        """Return the pairs at `indices`."""
        return Sights(self.sensors.take(indices), self.shapes.take(indices), self.distances.take(indices))


def _raster_near(drawing: Drawing, outlines: Shapes) -> Sights:
    """Return the pairs of sensors and outlines in reach and at the same height."""
    stations = drawing.stations
    circles = outlines.circles
    sights = Sights(*pairs_in_reach(stations.x, stations.y, drawing.fan.reach, circles.x, circles.y, circles.radii))
    sensors, shapes, _ = sights
    heights = stations.z.take(sensors)
    seen_mask: Bools = circles.lower.take(shapes) <= heights
    seen_mask &= heights <= circles.upper.take(shapes)
    seen_mask &= stations.rows.take(sensors) != circles.rows.take(shapes)
    kept = np.flatnonzero(seen_mask)
    return sights if len(kept) == len(sensors) else sights.take(kept)


def _in_shell(
    stations: Stations, outlines: Shapes, sights: Sights, near: float, far: float, horizon: Horizon | None
) -> Sights:
    """Return the pairs whose gap is between `near` and `far`, without those behind the horizon."""
    gaps = sights.distances - outlines.circles.radii.take(sights.shapes)
    sights = sights.take(np.flatnonzero((gaps >= near) & (gaps < far)))
    if horizon is None:
        return sights
    sensors, shapes, distances = sights
    x, y = stations.local(
        sensors,
        outlines.circles.x.take(shapes) - stations.x.take(sensors),
        outlines.circles.y.take(shapes) - stations.y.take(sensors),
    )
    hidden_mask = horizon.hidden_mask(sensors, x, y, distances, outlines.circles.radii.take(shapes))
    return sights.take(np.flatnonzero(~hidden_mask))


def _draw(drawing: Drawing, outlines: Shapes, sights: Sights) -> None:
    """Draw the outlines that are seen, a bounded number at once."""
    edges = _edges_of(outlines) if isinstance(outlines, Polygons) else None
    for first in range(0, len(sights.sensors), _PAIRS):
        sensors, shapes = sights.sensors[first : first + _PAIRS], sights.shapes[first : first + _PAIRS]
        if isinstance(outlines, Discs):
            _draw_some_discs(drawing, outlines, sensors, shapes)
        elif isinstance(outlines, Segments):
            draw_segments(drawing, outlines, sensors, shapes)
        elif edges is not None:
            _draw_some_polygons(drawing, outlines, edges, sensors, shapes)


def _draw_some_discs(drawing: Drawing, discs: Discs, sensors: Ints, shapes: Ints) -> None:
    """Draw discs `shapes` (K,) as `sensors` (K,) see them; from inside nothing is seen."""
    stations = drawing.stations
    across = discs.circles.x.take(shapes) - stations.x.take(sensors)
    along = discs.circles.y.take(shapes) - stations.y.take(sensors)
    squares = discs.squares_at(shapes, stations.z.take(sensors))
    distances = across * across + along * along
    # From inside a disc nothing of it is seen, and the arcsine below would have no value. A ball that the plane misses
    # has a square of 0.
    outside = np.flatnonzero((distances > squares) & (squares > 0.0))
    sensors, shapes, squares = sensors.take(outside), shapes.take(outside), squares.take(outside)
    x, y = stations.local(sensors, across.take(outside), along.take(outside))
    halves = trig.arcsin(np.sqrt(squares / distances.take(outside)))
    begins, widths = trig.arctan2(y, x) - halves, 2.0 * halves
    owners = discs.circles.rows.take(shapes)
    for lanes in lanes_of(drawing, sensors, begins, widths):
        dx, dy, square = x.take(lanes.pairs), y.take(lanes.pairs), squares.take(lanes.pairs)
        # The ray passes the centre at `offset`, so half the chord is sqrt(radius^2 - offset^2). `take` returned copies,
        # so working in place is safe and saves temporary arrays.
        offset = dx * lanes.sines
        offset -= dy * lanes.cosines
        offset *= offset
        square -= offset
        # Within the slack a ray may pass just beside the disc: then it touches.
        depth = np.sqrt(np.maximum(square, 0.0, out=square), out=square)
        dx *= lanes.cosines
        dy *= lanes.sines
        dx += dy
        dx -= depth
        if drawing.details:
            # Half the chord over the radius is the cosine of the angle to the normal.
            slants = depth / np.sqrt(squares.take(lanes.pairs))
            drawing.draw(lanes.places, dx, owners.take(lanes.pairs), slants)
        else:
            drawing.draw(lanes.places, dx)


class Edges(NamedTuple):
    """The edges (E,) of all polygons: from `starts` to `ends`, (2, E). They are seen from where
    x * normals[0] + y * normals[1] is above `offsets`.
    """

    starts: Floats
    ends: Floats
    normals: Floats
    offsets: Floats


def _edges_of(polygons: Polygons) -> Edges:
    """Return the edges of all polygons, with normals that point outwards."""
    following = np.arange(1, polygons.corners.shape[1] + 1)
    # The last corner of each polygon is followed by its first.
    following[polygons.first + polygons.sizes - 1] = polygons.first
    starts, ends = polygons.corners, np.ascontiguousarray(polygons.corners[:, following])
    # Normals point outwards, as corners are counter-clockwise, and are as long as their edges: `sides` below is then
    # twice the area of the triangle of sensor and edge.
    normals = np.stack((ends[1] - starts[1], starts[0] - ends[0]))
    return Edges(starts, ends, normals, normals[0] * starts[0] + normals[1] * starts[1])


def _draw_some_polygons(drawing: Drawing, polygons: Polygons, edges: Edges, sensors: Ints, shapes: Ints) -> None:
    """Draw polygons `shapes` (K,) as `sensors` (K,) see them: only the edges that face them."""
    stations = drawing.stations
    counts = polygons.sizes.take(shapes)
    corners = ragged_range(polygons.first.take(shapes), counts)
    pairs = np.repeat(np.arange(len(sensors)), counts)
    x, y = stations.x.take(sensors), stations.y.take(sensors)
    sides = x.take(pairs) * edges.normals[0].take(corners)
    sides += y.take(pairs) * edges.normals[1].take(corners)
    sides -= edges.offsets.take(corners)
    # Of a convex polygon only the edges that face the sensor can be hit first. From inside none does.
    seen = np.flatnonzero(sides > EDGE_ON)
    pairs, corners = pairs.take(seen), corners.take(seen)
    sensors = sensors.take(pairs)
    x, y = x.take(pairs), y.take(pairs)
    start = stations.local(sensors, edges.starts[0].take(corners) - x, edges.starts[1].take(corners) - y)
    end = stations.local(sensors, edges.ends[0].take(corners) - x, edges.ends[1].take(corners) - y)
    draw_edges(drawing, sensors, start, end, polygons.circles.rows.take(shapes.take(pairs)))


def _draw_walls(drawing: Drawing, walls: Walls) -> None:
    """Draw planes: they have no end, so each ray may hit them."""
    stations, fan = drawing.stations, drawing.fan
    cosines, sines = drawing.directions
    for row, normal, point in zip(walls.rows.tolist(), walls.normals, walls.points, strict=True):
        sensors = np.flatnonzero(stations.rows != row)
        x, y = stations.local(sensors, np.full(len(sensors), normal[0]), np.full(len(sensors), normal[1]))
        off = (
            normal[0] * (stations.x[sensors] - point[0])
            + normal[1] * (stations.y[sensors] - point[1])
            + normal[2] * (stations.z[sensors] - point[2])
        )
        # `off` is signed: a plane is met from both sides, by rays that come nearer to it.
        closing = -(x[:, None] * cosines + y[:, None] * sines)
        meets = np.flatnonzero((closing * np.sign(off)[:, None]).reshape(-1) > 1e-12)
        places = (sensors[:, None] * fan.rays + np.arange(fan.rays)).reshape(-1)[meets]
        closing = closing.reshape(-1)[meets]
        ranges = np.repeat(off, fan.rays)[meets] / closing
        drawing.draw(places, ranges, np.full(len(places), row), np.abs(closing))
