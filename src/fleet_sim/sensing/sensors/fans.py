"""Fans of rays in horizontal planes, and the ranges drawn at them so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.spatial import trigonometry as trig

# Finds the circles in reach of points: candidate pairs for the exact tests.


BRUTE_FORCE = 2_000_000
"""Number of combinations up to which comparing all of them is faster than a grid."""
_BLOCK = 1 << 16
"""Combinations compared at once, few enough to stay in the processor's cache."""

Pairs = tuple[Ints, Ints, Floats]


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


_NO_PAIRS: Pairs = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def pairs_in_reach(points_x: Floats, points_y: Floats, reach: float, x: Floats, y: Floats, radii: Floats) -> Pairs:
    """Return the pairs (K,), (K,) of a point and a circle of which some part is within `reach`, and their distances.

    Distances (K,) are to the circles' centres. A few circles that are far larger than the others do not slow it down.
    """
    if len(points_x) * len(x) <= BRUTE_FORCE:
        return _compared(points_x, points_y, reach, x, y, radii, np.arange(len(x)))
    # The largest circle sets the size of the cells. A few large ones would make a grid useless for all others, so these
    # are compared with every point.
    small_mask = radii <= 0.5 * reach
    small, large = np.flatnonzero(small_mask), np.flatnonzero(~small_mask)
    near = _in_grid(points_x, points_y, reach, x[small], y[small], radii[small])
    far = _compared(points_x, points_y, reach, x[large], y[large], radii[large], large)
    points, circles, distances = (np.concatenate(parts) for parts in zip(near, far, strict=True))
    # The grid counts among the small circles only; here they get their own numbers back.
    circles[: len(near[1])] = small[near[1]]
    return points, circles, distances


def _compared(
    points_x: Floats, points_y: Floats, reach: float, x: Floats, y: Floats, radii: Floats, numbers: Ints
) -> Pairs:
    """Compare every point with every circle; `numbers` are the indices of the circles in the result."""
    limits = (radii + reach) ** 2
    rows = max(1, _BLOCK // max(1, len(x)))
    found = [_NO_PAIRS]
    for first in range(0, len(points_x), rows):
        across = x - points_x[first : first + rows, None]
        along = y - points_y[first : first + rows, None]
        across *= across
        along *= along
        across += along
        hits = np.flatnonzero((across < limits).reshape(-1))
        found.append((first + hits // len(x), numbers[hits % len(x)], np.sqrt(across.reshape(-1)[hits])))
    points, circles, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return points, circles, distances


def _in_grid(points_x: Floats, points_y: Floats, reach: float, x: Floats, y: Floats, radii: Floats) -> Pairs:
    """Find the circles, sorted into the rows of a grid, in the rows and columns around each point."""
    if not len(x):
        return _NO_PAIRS
    grid = _grid_of(reach, x, y, radii, np.arange(len(x)))
    order, cells, columns, lines, furthest = grid.order, grid.cells, grid.columns, grid.lines, grid.furthest
    # Clipped past either end on purpose: for a point beside the grid no column is left.
    from_column = np.clip(np.floor((points_x - furthest - grid.x) / grid.cell), 0, columns).astype(np.int64)
    to_column = np.clip(np.floor((points_x + furthest - grid.x) / grid.cell), -1, columns - 1).astype(np.int64)
    middle = np.floor((points_y - grid.y) / grid.cell).astype(np.int64)
    starts, ends, owners = [], [], []
    # Two rows up and down are in reach; the third is for rounding.
    for line in range(-3, 4):
        wanted = middle + line
        inside = np.flatnonzero((wanted >= 0) & (wanted < lines) & (from_column <= to_column))
        starts.append(np.searchsorted(cells, wanted[inside] * columns + from_column[inside], "left"))
        ends.append(np.searchsorted(cells, wanted[inside] * columns + to_column[inside], "right"))
        owners.append(inside)
    counts = np.concatenate(ends) - np.concatenate(starts)
    points = np.repeat(np.concatenate(owners), counts)
    circles = order[ragged_range(np.concatenate(starts), counts)]
    across, along = x[circles] - points_x[points], y[circles] - points_y[points]
    squares = across * across + along * along
    kept = np.flatnonzero(squares < (reach + radii[circles]) ** 2)
    return points[kept], circles[kept], np.sqrt(squares[kept])


def grids_of(points: int, reach: float, x: Floats, y: Floats, radii: Floats) -> list[CircleGrid]:
    """Return grids in which compiled code finds what `pairs_in_reach` finds for a number of `points`, and no more.

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


def ragged_range(starts: Ints, counts: Ints) -> Ints:
    """Return start, start + 1, ... for each of `starts`, `counts` numbers each, one after the other."""
    total = int(counts.sum())
    before = np.cumsum(counts) - counts
    return np.arange(total) + np.repeat(starts - before, counts)


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
