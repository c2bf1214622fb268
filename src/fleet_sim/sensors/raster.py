"""Rays in horizontal planes against outlines, for many sensors with the same rays at once.

Each outline is drawn into the angles it covers, as seen from each sensor that it is near: only rays that can hit it are
computed. What a ray hits first is the smallest of the ranges drawn at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.sensors.nearby import pairs_in_reach, ragged_range
from fleet_sim.sensors.outlines import Discs, Outlines, Polygons, Walls

NOTHING = -1
_LANES = 1 << 15
"""Rays computed at once: what is worked on stays in the processor's cache."""
_TURN = 2.0 * np.pi
_SLACK = 1e-9
"""In steps between rays: how far outside the angles it covers an outline is still drawn."""
_EDGE_ON = 1e-9
"""Twice the area, in m2, of a sensor and an edge that lie on one line as far as can be told."""


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
        cosines, sines = self.cosines[sensors], self.sines[sensors]
        return cosines * across + sines * along, self.senses[sensors] * (cosines * along - sines * across)


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
    """The ranges drawn so far, (N * M,), and what is needed to tell afterwards who is in front."""

    def __init__(self, stations: Stations, fan: Fan, *, details: bool) -> None:
        self.stations = stations
        self.fan = fan
        self.ranges = np.full(len(stations.x) * fan.rays, np.inf)
        self.directions = np.cos(fan.angles), np.sin(fan.angles)
        self.details = details
        self._kept: list[tuple[Ints, Floats, Rows, Floats]] = []

    def draw(self, places: Ints, ranges: Floats, rows: Rows | None = None, cosines: Floats | None = None) -> None:
        """Draw `ranges` (K,) at `places` (K,)."""
        np.minimum.at(self.ranges, places, ranges)
        if rows is not None and cosines is not None:
            self._kept.append((places, ranges, rows, cosines))

    def hits(self) -> Hits:
        """Return what is in front everywhere."""
        shape = (len(self.stations.x), self.fan.rays)
        self.ranges[self.ranges > self.fan.reach] = np.inf
        if not self.details:
            return Hits(self.ranges.reshape(shape), None, None)
        rows = np.full(len(self.ranges), NOTHING, np.int64)
        cosines = np.zeros(len(self.ranges))
        for places, ranges, owners, slants in self._kept:
            front = np.flatnonzero(ranges == self.ranges[places])
            rows[places[front]] = owners[front]
            cosines[places[front]] = slants[front]
        return Hits(self.ranges.reshape(shape), rows.reshape(shape), cosines.reshape(shape))


def cast(stations: Stations, fan: Fan, outlines: Outlines, *, details: bool = False) -> Hits:
    """Return what the rays of `fan` meet from each of `stations`.

    A sensor does not see what it is inside of, nor the outlines of its own entity. With `details` it is also told whom
    the rays hit, and at which angle.
    """
    drawing = Drawing(stations, fan, details=details)
    _draw_discs(drawing, outlines.discs)
    _draw_polygons(drawing, outlines.polygons)
    _draw_walls(drawing, outlines.walls)
    return drawing.hits()


def _near(drawing: Drawing, outlines: Discs | Polygons) -> tuple[Ints, Ints]:
    """Return the pairs of sensors and outlines in reach and at the same height."""
    stations = drawing.stations
    sensors, shapes = pairs_in_reach(stations.x, stations.y, drawing.fan.reach, outlines.x, outlines.y, outlines.radii)
    heights = stations.z[sensors]
    seen_mask: Bools = outlines.lower[shapes] <= heights
    seen_mask &= heights <= outlines.upper[shapes]
    seen_mask &= stations.rows[sensors] != outlines.rows[shapes]
    kept = np.flatnonzero(seen_mask)
    return (sensors, shapes) if len(kept) == len(sensors) else (sensors[kept], shapes[kept])


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
    begins -= _TURN * np.floor(begins / _TURN)
    low = begins / fan.step
    high = (begins + widths) / fan.step
    turn = _TURN / fan.step
    # What goes on beyond a full turn is drawn again one turn earlier.
    again = np.flatnonzero(high >= turn - _SLACK)
    pairs = np.concatenate((np.arange(len(sensors)), again))
    starts = np.concatenate((np.ceil(low - _SLACK), np.ceil(low[again] - turn - _SLACK)))
    ends = np.concatenate((np.floor(high + _SLACK), np.floor(high[again] - turn + _SLACK)))
    starts = np.maximum(starts, 0.0).astype(np.int64)
    counts = np.minimum(ends, fan.rays - 1.0).astype(np.int64) - starts + 1
    kept = np.flatnonzero(counts > 0)
    pairs, starts, counts = pairs[kept], starts[kept], counts[kept]
    totals = np.cumsum(counts)
    cosines, sines = drawing.directions
    first = 0
    while first < len(pairs):
        done = int(totals[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(totals, done + _LANES, "right")))
        part = slice(first, last)
        rays = ragged_range(starts[part], counts[part])
        owners = np.repeat(pairs[part], counts[part])
        yield Lanes(owners, sensors[owners] * fan.rays + rays, cosines.take(rays), sines.take(rays))
        first = last


def _draw_discs(drawing: Drawing, discs: Discs) -> None:
    stations = drawing.stations
    sensors, shapes = _near(drawing, discs)
    across, along = discs.x[shapes] - stations.x[sensors], discs.y[shapes] - stations.y[sensors]
    squares = discs.squares_at(shapes, stations.z[sensors])
    distances = across * across + along * along
    outside = np.flatnonzero((distances > squares) & (squares > 0.0))
    sensors, shapes, squares = sensors[outside], shapes[outside], squares[outside]
    x, y = stations.local(sensors, across[outside], along[outside])
    halves = np.arcsin(np.sqrt(squares / distances[outside]))
    owners = discs.rows[shapes]
    for lanes in _lanes(drawing, sensors, np.arctan2(y, x) - halves, 2.0 * halves):
        dx, dy, square = x[lanes.pairs], y[lanes.pairs], squares[lanes.pairs]
        offset = dx * lanes.sines - dy * lanes.cosines
        depth = np.sqrt(np.maximum(square - offset * offset, 0.0))
        ranges = dx * lanes.cosines + dy * lanes.sines - depth
        if drawing.details:
            drawing.draw(lanes.places, ranges, owners[lanes.pairs], depth / np.sqrt(square))
        else:
            drawing.draw(lanes.places, ranges)


def _draw_polygons(drawing: Drawing, polygons: Polygons) -> None:
    stations = drawing.stations
    sensors, shapes = _near(drawing, polygons)
    counts = polygons.sizes[shapes]
    corners = ragged_range(polygons.first[shapes], counts)
    sensors, shapes = np.repeat(sensors, counts), np.repeat(shapes, counts)
    following = corners + 1
    last_mask = following == polygons.first[shapes] + polygons.sizes[shapes]
    following[last_mask] = polygons.first[shapes[last_mask]]
    x, y = stations.x[sensors], stations.y[sensors]
    ax, ay = polygons.corners[0].take(corners) - x, polygons.corners[1].take(corners) - y
    bx, by = polygons.corners[0].take(following) - x, polygons.corners[1].take(following) - y
    # An edge is seen from its right: outside of a polygon that goes round counter-clockwise.
    seen = np.flatnonzero(ax * by - ay * bx < -_EDGE_ON)
    sensors = sensors[seen]
    ax, ay = stations.local(sensors, ax[seen], ay[seen])
    bx, by = stations.local(sensors, bx[seen], by[seen])
    _draw_edges(drawing, sensors, (ax, ay), (bx, by), polygons.rows[shapes[seen]])


def _draw_edges(
    drawing: Drawing, sensors: Ints, a: tuple[Floats, Floats], b: tuple[Floats, Floats], owners: Rows
) -> None:
    """Draw edges between points given in the sensors' frames."""
    (ax, ay), (bx, by) = a, b
    ex, ey = bx - ax, by - ay
    crossed = ax * ey - ay * ex
    from_a, from_b = np.arctan2(ay, ax), np.arctan2(by, bx)
    sweeps = from_b - from_a
    sweeps -= _TURN * np.round(sweeps / _TURN)
    begins = np.where(sweeps < 0.0, from_b, from_a)
    lengths = np.sqrt(ex * ex + ey * ey) if drawing.details else ex
    for lanes in _lanes(drawing, sensors, begins, np.abs(sweeps)):
        pairs = lanes.pairs
        slants = lanes.cosines * ey[pairs] - lanes.sines * ex[pairs]
        ranges = crossed[pairs] / slants
        if drawing.details:
            drawing.draw(lanes.places, ranges, owners[pairs], np.abs(slants) / lengths[pairs])
        else:
            drawing.draw(lanes.places, ranges)


def _draw_walls(drawing: Drawing, walls: Walls) -> None:
    """Draw planes, which may be in the way of any ray."""
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
        closing = -(x[:, None] * cosines + y[:, None] * sines)
        meets = np.flatnonzero((closing * np.sign(off)[:, None]).reshape(-1) > 1e-12)
        places = (sensors[:, None] * fan.rays + np.arange(fan.rays)).reshape(-1)[meets]
        closing = closing.reshape(-1)[meets]
        ranges = np.repeat(off, fan.rays)[meets] / closing
        drawing.draw(places, ranges, np.full(len(places), row), np.abs(closing))
