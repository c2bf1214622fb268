"""Fans of rays in horizontal planes, and the ranges drawn at them so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.sensors.nearby import ragged_range
from fleet_sim.spatial import trigonometry as trig

NOTHING = -1
_LANES = 1 << 14
"""Rays computed at once, few enough to stay in the processor's cache."""
TURN = 2.0 * np.pi
SLACK = 1e-9
"""Tolerance, in steps between rays, by which an outline is drawn beyond the angles it covers."""


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


class RayLanes(NamedTuple):
    """Some rays at once: which pair (K,) each is for, where it is drawn, and its direction in the sensor's frame."""

    pairs: Ints
    places: Ints
    cosines: Floats
    sines: Floats


def spans_of(fan: Fan, begins: Floats, widths: Floats) -> tuple[Ints, Ints, Ints]:
    """Return which rays are within `widths` rad (P,) from the angles `begins` (P,) on, as spans.

    These are the index of a pair, the first ray, and the number of rays, (S,) each.
    """
    begins = begins - fan.first
    # Counted from the first ray, in [0, 2 pi): dividing by the step then gives ray numbers.
    begins -= TURN * np.floor(begins / TURN)
    low = begins / fan.step
    high = (begins + widths) / fan.step
    turn = TURN / fan.step
    # What goes on beyond a full turn is drawn again one turn earlier.
    again = np.flatnonzero(high >= turn - SLACK)
    pairs = np.concatenate((np.arange(len(begins)), again))
    # The slack lets both edges at a corner draw the ray through it, so that no ray slips between them. The minimum of
    # ranges makes drawing twice harmless.
    starts = np.concatenate((np.ceil(low - SLACK), np.ceil(low[again] - turn - SLACK)))
    ends = np.concatenate((np.floor(high + SLACK), np.floor(high[again] - turn + SLACK)))
    # Clipped before they become integers: where steps are tiny, no integer is as large.
    starts = np.clip(starts, 0.0, float(fan.rays)).astype(np.int64)
    counts = np.minimum(ends, fan.rays - 1.0).astype(np.int64) - starts + 1
    kept = np.flatnonzero(counts > 0)
    return pairs[kept], starts[kept], counts[kept]


def lanes_of(drawing: Drawing, sensors: Ints, begins: Floats, widths: Floats) -> Iterator[RayLanes]:
    """Yield the rays within `widths` rad (P,) from the angles `begins` (P,) on, in pieces of bounded size."""
    fan = drawing.fan
    pairs, starts, counts = spans_of(fan, begins, widths)
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
        yield RayLanes(owners, bases.take(owners) + rays, cosines.take(rays), sines.take(rays))
        first = last
