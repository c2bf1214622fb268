"""Rays in horizontal planes against outlines, by compiled code, with the bits of `raster` and `edges`.

Sensor by sensor, each outline in reach is drawn into the rays that can meet it. Nothing is kept between the two, so a
crowd needs no horizon.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import atan2
from fleet_sim.sensors.fans import SLACK, TURN, Fan, Stations
from fleet_sim.sensors.nearby import CircleGrid
from fleet_sim.sensors.outlines import Circles, Walls

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
