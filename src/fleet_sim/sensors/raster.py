"""Rays in horizontal planes against outlines, for many sensors with the same rays at once.

Each outline is drawn into the angles it covers, as seen from each sensor that it is near: only rays that can hit it are
computed. What a ray hits first is the smallest of the ranges drawn at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.sensors.horizon import Horizon
from fleet_sim.sensors.nearby import pairs_in_reach, ragged_range
from fleet_sim.sensors.outlines import Discs, Outlines, Polygons, Walls
from fleet_sim.spatial import trigonometry as trig

NOTHING = -1
_LANES = 1 << 14
"""Rays computed at once, few enough to stay in the processor's cache."""
_PAIRS = 1 << 13
"""Pairs of a sensor and an outline computed at once, for the same reason."""
_CROWD = 150
"""Number of outlines per sensor up to which drawing all is faster than finding the hidden ones."""
_SHELLS = (-np.inf, 0.4, np.inf)
"""Bounds of the distance shells in which a crowd is drawn, nearest first, as fractions of the reach."""
_TURN = 2.0 * np.pi
_SLACK = 1e-9
"""Tolerance, in steps between rays, by which an outline is drawn beyond the angles it covers."""
_EDGE_ON = 1e-9
"""Twice the area in m2 of the triangle of a sensor and an edge, up to which the edge is seen edge-on."""


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

    def local(self, sensors: Ints, across: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Return vectors of the world, (K,) each, in the frames of `sensors` (K,)."""
        cosines, sines = self.cosines.take(sensors), self.sines.take(sensors)
        return cosines * across + sines * along, self.senses.take(sensors) * (cosines * along - sines * across)


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


class Drawing:
    """The ranges drawn so far, (N * M,), and with `details` the data to tell afterwards which outline is in front."""

    def __init__(self, stations: Stations, fan: Fan, *, details: bool) -> None:
        self.stations = stations
        self.fan = fan
        self.ranges = np.full(len(stations.x) * fan.rays, np.inf)
        self.directions = trig.sin_cos(fan.angles)[::-1]
        self.details = details
        self._kept: list[tuple[Ints, Floats, Rows, Floats]] = []

    def draw(self, places: Ints, ranges: Floats, rows: Rows | None = None, cosines: Floats | None = None) -> None:
        """Draw `ranges` (K,) at `places` (K,)."""
        # A place may come several times in one call; plain indexing would keep the last range, not the smallest.
        np.minimum.at(self.ranges, places, ranges)
        if rows is not None and cosines is not None:
            self._kept.append((places, ranges, rows, cosines))

    def hits(self) -> Hits:
        """Return the nearest hit of each ray."""
        shape = (len(self.stations.x), self.fan.rays)
        self.ranges[self.ranges > self.fan.reach] = np.inf
        if not self.details:
            return Hits(self.ranges.reshape(shape), None, None)
        rows = np.full(len(self.ranges), NOTHING, np.int64)
        cosines = np.zeros(len(self.ranges))
        for places, ranges, owners, slants in self._kept:
            # Equality is exact here: what is in front is a copy of one of the ranges drawn.
            front = np.flatnonzero(ranges == self.ranges[places])
            rows[places[front]] = owners[front]
            cosines[places[front]] = slants[front]
        return Hits(self.ranges.reshape(shape), rows.reshape(shape), cosines.reshape(shape))


def cast(stations: Stations, fan: Fan, outlines: Outlines, *, details: bool = False) -> Hits:
    """Return the hits of the rays of `fan` from each of `stations`.

    A sensor does not see what it is inside of, nor the outlines of its own entity. With `details` the result
    also has the entities hit and the angles of incidence.
    """
    drawing = Drawing(stations, fan, details=details)
    # Walls come first: the horizon of the second shell then knows what they hide.
    _draw_walls(drawing, outlines.walls)
    discs, polygons = _near(drawing, outlines.discs), _near(drawing, outlines.polygons)
    if len(discs.sensors) + len(polygons.sensors) <= _CROWD * len(stations.x):
        _draw_discs(drawing, outlines.discs, discs)
        _draw_polygons(drawing, outlines.polygons, polygons)
        return drawing.hits()
    # The nearest shell has no horizon yet. What it draws is the horizon that hides outlines of the next one.
    for low, high in pairwise(_SHELLS):
        near, far = low * fan.reach, high * fan.reach
        horizon = None if low < 0.0 else Horizon(drawing.ranges.reshape(-1, fan.rays), fan.angles)
        _draw_discs(drawing, outlines.discs, _in_shell(stations, outlines.discs, discs, near, far, horizon))
        _draw_polygons(drawing, outlines.polygons, _in_shell(stations, outlines.polygons, polygons, near, far, horizon))
    return drawing.hits()


class Sights(NamedTuple):
    """Pairs (K,) of a sensor and an outline near it, and the distance between the sensor and the outline's middle."""

    sensors: Ints
    shapes: Ints
    distances: Floats

    def take(self, indices: Ints) -> Sights:
        """Return the pairs at `indices`."""
        return Sights(self.sensors.take(indices), self.shapes.take(indices), self.distances.take(indices))


def _near(drawing: Drawing, outlines: Discs | Polygons) -> Sights:
    """Return the pairs of sensors and outlines in reach and at the same height."""
    stations = drawing.stations
    sights = Sights(*pairs_in_reach(stations.x, stations.y, drawing.fan.reach, outlines.x, outlines.y, outlines.radii))
    sensors, shapes, _ = sights
    heights = stations.z.take(sensors)
    seen_mask: Bools = outlines.lower.take(shapes) <= heights
    seen_mask &= heights <= outlines.upper.take(shapes)
    seen_mask &= stations.rows.take(sensors) != outlines.rows.take(shapes)
    kept = np.flatnonzero(seen_mask)
    return sights if len(kept) == len(sensors) else sights.take(kept)


def _in_shell(
    stations: Stations, outlines: Discs | Polygons, sights: Sights, near: float, far: float, horizon: Horizon | None
) -> Sights:
    """Return the pairs whose gap is between `near` and `far`, without those behind the horizon."""
    gaps = sights.distances - outlines.radii.take(sights.shapes)
    sights = sights.take(np.flatnonzero((gaps >= near) & (gaps < far)))
    if horizon is None:
        return sights
    sensors, shapes, distances = sights
    x, y = stations.local(
        sensors,
        outlines.x.take(shapes) - stations.x.take(sensors),
        outlines.y.take(shapes) - stations.y.take(sensors),
    )
    hidden_mask = horizon.hidden_mask(sensors, x, y, distances, outlines.radii.take(shapes))
    return sights.take(np.flatnonzero(~hidden_mask))


class Lanes(NamedTuple):
    """Some rays at once: which pair (K,) each is for, where it is drawn, and its direction in the sensor's frame."""

    pairs: Ints
    places: Ints
    cosines: Floats
    sines: Floats


def _lanes(drawing: Drawing, sensors: Ints, begins: Floats, widths: Floats) -> Iterator[Lanes]:
    """Yield the rays within `widths` rad (P,) from the angles `begins` (P,) on, in pieces of bounded size."""
    fan = drawing.fan
    begins = begins - fan.first
    # Counted from the first ray, in [0, 2 pi): dividing by the step then gives ray numbers.
    begins -= _TURN * np.floor(begins / _TURN)
    low = begins / fan.step
    high = (begins + widths) / fan.step
    turn = _TURN / fan.step
    # What goes on beyond a full turn is drawn again one turn earlier.
    again = np.flatnonzero(high >= turn - _SLACK)
    pairs = np.concatenate((np.arange(len(sensors)), again))
    # The slack lets both edges at a corner draw the ray through it, so that no ray slips between them. The minimum of
    # ranges makes drawing twice harmless.
    starts = np.concatenate((np.ceil(low - _SLACK), np.ceil(low[again] - turn - _SLACK)))
    ends = np.concatenate((np.floor(high + _SLACK), np.floor(high[again] - turn + _SLACK)))
    starts = np.maximum(starts, 0.0).astype(np.int64)
    counts = np.minimum(ends, fan.rays - 1.0).astype(np.int64) - starts + 1
    kept = np.flatnonzero(counts > 0)
    pairs, starts, counts = pairs[kept], starts[kept], counts[kept]
    totals = np.cumsum(counts)
    bases = sensors * fan.rays
    cosines, sines = drawing.directions
    first = 0
    while first < len(pairs):
        done = int(totals[first - 1]) if first else 0
        # At least one pair per piece, even one with more than _LANES rays.
        last = max(first + 1, int(np.searchsorted(totals, done + _LANES, "right")))
        part = slice(first, last)
        rays = ragged_range(starts[part], counts[part])
        owners = np.repeat(pairs[part], counts[part])
        yield Lanes(owners, bases.take(owners) + rays, cosines.take(rays), sines.take(rays))
        first = last


def _draw_discs(drawing: Drawing, discs: Discs, sights: Sights) -> None:
    for first in range(0, len(sights.sensors), _PAIRS):
        part = slice(first, first + _PAIRS)
        _draw_some_discs(drawing, discs, sights.sensors[part], sights.shapes[part])


def _draw_some_discs(drawing: Drawing, discs: Discs, sensors: Ints, shapes: Ints) -> None:
    stations = drawing.stations
    across = discs.x.take(shapes) - stations.x.take(sensors)
    along = discs.y.take(shapes) - stations.y.take(sensors)
    squares = discs.squares_at(shapes, stations.z.take(sensors))
    distances = across * across + along * along
    # From inside a disc nothing of it is seen, and the arcsine below would have no value. A ball that the plane misses
    # has a square of 0.
    outside = np.flatnonzero((distances > squares) & (squares > 0.0))
    sensors, shapes, squares = sensors.take(outside), shapes.take(outside), squares.take(outside)
    x, y = stations.local(sensors, across.take(outside), along.take(outside))
    halves = trig.arcsin(np.sqrt(squares / distances.take(outside)))
    owners = discs.rows.take(shapes)
    for lanes in _lanes(drawing, sensors, trig.arctan2(y, x) - halves, 2.0 * halves):
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


def _draw_polygons(drawing: Drawing, polygons: Polygons, sights: Sights) -> None:
    edges = _edges_of(polygons)
    for first in range(0, len(sights.sensors), _PAIRS):
        part = slice(first, first + _PAIRS)
        _draw_some_polygons(drawing, polygons, edges, sights.sensors[part], sights.shapes[part])


class Edges(NamedTuple):
    """The edges (E,) of all polygons: from `starts` to `ends`, (2, E). They are seen from where
    x * normals[0] + y * normals[1] is above `offsets`.
    """

    starts: Floats
    ends: Floats
    normals: Floats
    offsets: Floats


def _edges_of(polygons: Polygons) -> Edges:
    following = np.arange(1, polygons.corners.shape[1] + 1)
    # The last corner of each polygon is followed by its first.
    following[polygons.first + polygons.sizes - 1] = polygons.first
    starts, ends = polygons.corners, np.ascontiguousarray(polygons.corners[:, following])
    # Normals point outwards, as corners are counter-clockwise, and are as long as their edges: `sides` below is then
    # twice the area of the triangle of sensor and edge.
    normals = np.stack((ends[1] - starts[1], starts[0] - ends[0]))
    return Edges(starts, ends, normals, normals[0] * starts[0] + normals[1] * starts[1])


def _draw_some_polygons(drawing: Drawing, polygons: Polygons, edges: Edges, sensors: Ints, shapes: Ints) -> None:
    stations = drawing.stations
    counts = polygons.sizes.take(shapes)
    corners = ragged_range(polygons.first.take(shapes), counts)
    pairs = np.repeat(np.arange(len(sensors)), counts)
    x, y = stations.x.take(sensors), stations.y.take(sensors)
    sides = x.take(pairs) * edges.normals[0].take(corners)
    sides += y.take(pairs) * edges.normals[1].take(corners)
    sides -= edges.offsets.take(corners)
    # Of a convex polygon only the edges that face the sensor can be hit first. From inside none does.
    seen = np.flatnonzero(sides > _EDGE_ON)
    pairs, corners = pairs.take(seen), corners.take(seen)
    sensors = sensors.take(pairs)
    x, y = x.take(pairs), y.take(pairs)
    start = stations.local(sensors, edges.starts[0].take(corners) - x, edges.starts[1].take(corners) - y)
    end = stations.local(sensors, edges.ends[0].take(corners) - x, edges.ends[1].take(corners) - y)
    _draw_edges(drawing, sensors, start, end, polygons.rows.take(shapes.take(pairs)))


def _draw_edges(
    drawing: Drawing, sensors: Ints, a: tuple[Floats, Floats], b: tuple[Floats, Floats], owners: Rows
) -> None:
    """Draw edges between points given in the sensors' frames."""
    (ax, ay), (bx, by) = a, b
    ex, ey = bx - ax, by - ay
    crossed = ax * ey - ay * ex
    from_a, from_b = trig.arctan2(ay, ax), trig.arctan2(by, bx)
    sweeps = from_b - from_a
    # An edge covers less than half a turn, so the shorter way round is the right one.
    sweeps -= _TURN * np.round(sweeps / _TURN)
    # Facing edges run clockwise as seen from upright sensors, but counter-clockwise from those upside down.
    begins = np.where(sweeps < 0.0, from_b, from_a)
    lengths = np.sqrt(ex * ex + ey * ey) if drawing.details else ex
    for lanes in _lanes(drawing, sensors, begins, np.abs(sweeps)):
        pairs = lanes.pairs
        # The range along direction d to the line through a with direction e is (a x e) / (d x e).
        slants = lanes.cosines * ey.take(pairs)
        slants -= lanes.sines * ex.take(pairs)
        ranges = crossed.take(pairs) / slants
        if drawing.details:
            drawing.draw(lanes.places, ranges, owners.take(pairs), np.abs(slants) / lengths.take(pairs))
        else:
            drawing.draw(lanes.places, ranges)


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
