"""Rays in horizontal planes against outlines, by compiled code, with the bits of `raster` and `edges`.

Sensor by sensor, each outline in reach is drawn into the rays that can meet it. Nothing is kept between the two, so a
crowd needs no horizon.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import atan2
from fleet_sim.sensors.fans import SLACK, TURN, Fan, Stations
from fleet_sim.sensors.nearby import CircleGrid
from fleet_sim.sensors.outlines import Walls

EDGE_ON = 1e-9
"""Twice the area in m2 of the triangle of a sensor and an edge, up to which the edge is seen edge-on."""
Directions: TypeAlias = tuple[Floats, Floats]
"""Cosines and sines (M,) of the rays in the sensors' frames."""


class Circles(NamedTuple):
    """Circles around N outlines of entities `rows`, and the heights from `lower` to `upper` they fill, (N,) each."""

    rows: Rows
    x: Floats
    y: Floats
    radii: Floats
    lower: Floats
    upper: Floats


@inlined
def _near(stations: Stations, sensor: int, reach: float, circles: Circles, grid: CircleGrid, near: Ints) -> int:
    """Write the circles that a sensor can see into `near` (N,), and return how many there are."""
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
                near[found] = one
                found += own != circles.rows[one]
    return found


@compiled_step
def draw_discs(
    stations: Stations,
    fan: Fan,
    circles: Circles,
    z: Floats,
    balls: Ints,
    grid: CircleGrid,
    directions: Directions,
    near: Ints,
    ranges: Floats,
) -> None:
    """Draw discs into `ranges` (N * M,); of `balls` (D,) that are not 0 the radius is that at height `z` (D,)."""
    cosines, sines = directions
    for sensor in range(len(stations.x)):
        base = sensor * fan.rays
        for place in range(_near(stations, sensor, fan.reach, circles, grid, near)):
            disc = near[place]
            across, along = circles.x[disc] - stations.x[sensor], circles.y[disc] - stations.y[sensor]
            off = stations.z[sensor] - z[disc] if balls[disc] else 0.0
            square = max(circles.radii[disc] * circles.radii[disc] - off * off, 0.0)
            distance = across * across + along * along
            # As in `raster`: nothing is seen from inside, nor of a ball that the plane misses.
            if not (distance > square and square > 0.0):
                continue
            dx, dy = _local(stations, sensor, across, along)
            sine = math.sqrt(square / distance)
            half = atan2(sine, math.sqrt((1.0 - sine) * (1.0 + sine)))
            start, end, again = _rays_within(fan, atan2(dy, dx) - half, 2.0 * half)
            while start >= 0:
                for ray in range(start, end):
                    offset = dx * sines[ray] - dy * cosines[ray]
                    rest = square - offset * offset
                    depth = math.sqrt(rest if rest > 0.0 else 0.0)
                    _keep_nearer(ranges, base + ray, dx * cosines[ray] + dy * sines[ray] - depth)
                start, end, again = (0, again, 0) if again > 0 else (-1, 0, 0)


@compiled_step
def draw_polygons(
    stations: Stations,
    fan: Fan,
    circles: Circles,
    first: Ints,
    sizes: Ints,
    corners: Floats,
    grid: CircleGrid,
    directions: Directions,
    near: Ints,
    ranges: Floats,
) -> None:
    """Draw the edges of convex polygons that face the sensors; `first`, `sizes` and `corners` as in `Polygons`."""
    for sensor in range(len(stations.x)):
        x, y = stations.x[sensor], stations.y[sensor]
        for place in range(_near(stations, sensor, fan.reach, circles, grid, near)):
            begin, size = first[near[place]], sizes[near[place]]
            ax, ay = corners[0, begin], corners[1, begin]
            # The corner at the end of the last edge, in the sensor's frame, and its angle: mostly the next one's begin.
            known, known_x, known_y, known_angle = -1, 0.0, 0.0, 0.0
            for corner in range(1, size + 1):
                at = begin + corner % size
                bx, by = corners[0, at], corners[1, at]
                normal_x, normal_y = by - ay, ax - bx
                side = x * normal_x + y * normal_y - (normal_x * ax + normal_y * ay)
                if side > EDGE_ON:
                    if known != corner - 1:
                        known_x, known_y = _local(stations, sensor, ax - x, ay - y)
                        known_angle = atan2(known_y, known_x)
                    end_x, end_y = _local(stations, sensor, bx - x, by - y)
                    angle = atan2(end_y, end_x)
                    _draw_edge(fan, sensor, known_x, known_y, known_angle, end_x, end_y, angle, directions, ranges)
                    known, known_x, known_y, known_angle = corner, end_x, end_y, angle
                ax, ay = bx, by


@compiled_step
def draw_lines(
    stations: Stations,
    fan: Fan,
    circles: Circles,
    starts: Floats,
    ends: Floats,
    grid: CircleGrid,
    directions: Directions,
    near: Ints,
    ranges: Floats,
) -> None:
    """Draw lines from `starts` to `ends`, (2, N) each, seen from both sides."""
    for sensor in range(len(stations.x)):
        x, y = stations.x[sensor], stations.y[sensor]
        for place in range(_near(stations, sensor, fan.reach, circles, grid, near)):
            line = near[place]
            ax, ay = _local(stations, sensor, starts[0, line] - x, starts[1, line] - y)
            bx, by = _local(stations, sensor, ends[0, line] - x, ends[1, line] - y)
            if abs(ax * by - ay * bx) > EDGE_ON:
                _draw_edge(fan, sensor, ax, ay, atan2(ay, ax), bx, by, atan2(by, bx), directions, ranges)


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


@compiled_step
def _rays_within(fan: Fan, begin: float, width: float) -> tuple[int, int, int]:
    """Return the first ray within `width` rad from `begin` on, -1 for none, and the end of the rays.

    And, where the angle goes on beyond a full turn, the end of the rays from 0 on that are in the rest. As `spans_of`.
    """
    begin -= fan.first
    begin -= TURN * np.floor(begin / TURN)
    low, high, turn = begin / fan.step, (begin + width) / fan.step, TURN / fan.step
    # Compared as floats: with tiny steps the numbers are beyond those of integers.
    start = int(min(max(np.ceil(low - SLACK), 0.0), float(fan.rays)))
    end = int(min(np.floor(high + SLACK), fan.rays - 1.0)) + 1
    again = int(min(np.floor(high - turn + SLACK), fan.rays - 1.0)) + 1 if high >= turn - SLACK else 0
    return (start, max(start, end), again) if start < end or again > 0 else (-1, 0, 0)


@compiled_step
def _draw_edge(
    fan: Fan,
    sensor: int,
    ax: float,
    ay: float,
    from_a: float,
    bx: float,
    by: float,
    from_b: float,
    directions: Directions,
    ranges: Floats,
) -> None:
    """Draw the edge from a to b, points in the sensor's frame at the angles `from_a` and `from_b`, as `draw_edges`."""
    cosines, sines = directions
    ex, ey = bx - ax, by - ay
    cross = ax * ey - ay * ex
    sweep = from_b - from_a
    sweep -= TURN * round(sweep / TURN)
    start, end, again = _rays_within(fan, from_b if sweep < 0.0 else from_a, abs(sweep))
    base = sensor * fan.rays
    while start >= 0:
        for ray in range(start, end):
            _keep_nearer(ranges, base + ray, cross / (cosines[ray] * ey - sines[ray] * ex))
        start, end, again = (0, again, 0) if again > 0 else (-1, 0, 0)


@inlined
def _keep_nearer(ranges: Floats, place: int, found: float) -> None:
    known = ranges[place]
    # As `np.minimum`: a number that is none stays. Chosen, not jumped over, so that several rays are drawn at once.
    ranges[place] = found if found < known or found != found else known
