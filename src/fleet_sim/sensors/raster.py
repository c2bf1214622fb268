"""Rays in horizontal planes against outlines, for many sensors with the same rays at once.

Each outline is drawn into the angles it covers, as seen from each sensor that it is near: only rays that can hit it are
computed. What a ray hits first is the smallest of the ranges drawn at it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.sensors.compiled_cast import cast_compiled
from fleet_sim.sensors.compiled_lanes import EDGE_ON
from fleet_sim.sensors.edges import draw_edges, draw_segments
from fleet_sim.sensors.fans import Drawing, Fan, Hits, Stations, lanes_of
from fleet_sim.sensors.horizon import Horizon
from fleet_sim.sensors.nearby import pairs_in_reach, ragged_range
from fleet_sim.sensors.outlines import Discs, Outlines, Polygons, Segments, Walls
from fleet_sim.spatial import trigonometry as trig

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
        (shapes, _near(drawing, shapes))
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


def _near(drawing: Drawing, outlines: Shapes) -> Sights:
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
