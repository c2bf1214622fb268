"""Routes across the free space of a site, for robots of one size."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.site import Site, Zone, ZoneKind

# Points of routes, in cells.


Point = tuple[float, float]
"""Column and row, in cells; rows count downwards."""


def distance(begin: Point, end: Point) -> float:
    """Return the distance between two points, with the same bits on every machine."""
    return trig.hypot_of(end[0] - begin[0], end[1] - begin[1])


# Sight: whether a disc can move along a straight line without touching a blocked cell.


TOUCH = 1e-9
"""Discs and cells that share less than this (in cells) only touch, which is allowed."""


class Sight:
    """Answers for the cells of `blocked_mask` (H, W); what is outside of them is blocked.

    Points are (column, row) in cells: the middle of the first cell is at (0.5, 0.5).
    """

    def __init__(self, blocked_mask: Bools) -> None:
        self._height, self._width = blocked_mask.shape
        # Blocked cells before each cell of a column, and of a row: those between two are one difference.
        self._down = _counts(blocked_mask.T)
        self._right = _counts(blocked_mask)

    def is_clear(self, begin: tuple[float, float], end: tuple[float, float], radius: float) -> bool:
        """Return whether a disc of `radius` cells touches no blocked cell anywhere from `begin` to `end`.

        The area that it sweeps is cut into strips, one per column of cells. It is convex, so it touches exactly those
        cells of a strip between its lowest and its highest point there.
        """
        (x1, y1), (x2, y2) = begin, end
        if abs(y2 - y1) > abs(x2 - x1):
            # Along the steeper axis the strips would be few and long.
            return _is_clear(self._right, (y1, x1), (y2, x2), radius, self._width)
        return _is_clear(self._down, (x1, y1), (x2, y2), radius, self._height)


def _counts(blocked_mask: Bools) -> Ints:
    counts = np.zeros((blocked_mask.shape[0], blocked_mask.shape[1] + 1), np.int32)
    np.cumsum(blocked_mask, axis=1, out=counts[:, 1:])
    return counts


def _is_clear(counts: Ints, begin: tuple[float, float], end: tuple[float, float], radius: float, across: int) -> bool:
    """Return whether the strips along x of `counts` (strips, across + 1) are clear; |dx| must not be less than |dy|."""
    (x1, y1), (x2, y2) = (begin, end) if begin[0] <= end[0] else (end, begin)
    low, high = min(y1, y2) - radius, max(y1, y2) + radius
    if x1 - radius < -TOUCH or x2 + radius > len(counts) + TOUCH or low < -TOUCH or high > across + TOUCH:
        return False
    first = max(math.floor(x1 - radius + TOUCH), 0)
    last = min(math.ceil(x2 + radius - TOUCH), len(counts))
    strips = np.arange(first, max(last, first + 1))
    if strips[-1] >= len(counts):
        return True
    tops = _tops(strips, x1, y1, x2, y2, radius)
    bottoms = -_tops(strips, x1, -y1, x2, -y2, radius)
    lows = np.floor(bottoms + TOUCH).astype(np.int64)
    highs = np.maximum(np.ceil(tops - TOUCH).astype(np.int64), lows)
    # Rounding may leave the rows by less than what counts as touching.
    np.maximum(lows, 0, out=lows)
    np.minimum(highs, across, out=highs)
    return not np.count_nonzero(counts[strips, highs] - counts[strips, lows])


def _tops(strips: Ints, x1: float, y1: float, x2: float, y2: float, radius: float) -> Floats:
    """Return the largest y (K,) that the disc reaches within each strip from x to x + 1."""
    length = trig.hypot_of(x2 - x1, y2 - y1)
    sine, cosine = ((y2 - y1) / length, (x2 - x1) / length) if length > 0.0 else (0.0, 1.0)
    # The upper edge rises up to the end that is higher and falls after it.
    x = np.minimum(np.maximum(x2 if y2 > y1 else x1, strips), strips + 1)
    left, right = x1 - radius * sine, x2 - radius * sine
    tops: Floats = y1 + radius * cosine + (x - left) * (sine / cosine)
    for at, y, mask in ((x1, y1, x < left), (x2, y2, x > right)):
        if np.count_nonzero(mask):
            off = x[mask] - at
            tops[mask] = y + np.sqrt(np.maximum(radius * radius - off * off, 0.0))
    return tops


def gap_to_boxes(boxes: Floats, begin: Floats, end: Floats) -> float:
    """Return the distance in m of the line from `begin` (2,) to `end` from boxes (K, 5), as a site has them; 0 within.

    Boxes are x, y, yaw, and half of the length and of the width.
    """
    sines, cosines = trig.sin_cos(boxes[:, 2])
    half = boxes[:, 3:]

    def own(place: Floats) -> Floats:
        x, y = place[0] - boxes[:, 0], place[1] - boxes[:, 1]
        return np.column_stack((cosines * x + sines * y, cosines * y - sines * x))

    first, last = own(begin), own(end)
    way = last - first
    # From which share of the line to which it is between the sides, along both axes: then it is within.
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = np.sort(np.stack(((-half - first) / way, (half - first) / way)), axis=0)
    between = np.abs(first) < half
    lows = np.where(way == 0.0, np.where(between, -np.inf, np.inf), sides[0]).max(axis=1, initial=0.0)
    highs = np.where(way == 0.0, np.where(between, np.inf, -np.inf), sides[1]).min(axis=1, initial=1.0)
    if (lows < highs).any():
        return 0.0
    # Apart, two outlines are nearest at an end of the line or at a corner of the box.
    nearest = min(
        float(trig.hypot(*np.maximum(np.abs(place) - half, 0.0).T).min(initial=np.inf)) for place in (first, last)
    )
    for ahead, aside in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        corners = half * (ahead, aside)
        nearest = min(nearest, float(distances_to_lines(corners, first, last).min(initial=np.inf)))
    return nearest


# Rules of zones, by cell: how fast, and which way.


ALONG = -1e-9
"""Straight across the way of a one-way zone is allowed: robots must reach what stands beside it."""


class Rules:
    """The zones of a site that limit speeds and directions. A cell is in a zone if its middle is.

    Cells with the same rules have the same `label` (H * W,), by which `speeds` (L,) in m/s and `ways` (one array (K, 2)
    of directions per label) are found. Directions are unit vectors as (column, row) of the grid.
    """

    def __init__(self, site: Site) -> None:
        grid = site.grid
        # No-go zones are blocked cells already.
        zones = [zone for zone in site.zones if zone.kind is not ZoneKind.NO_GO]
        self._shape = grid.free_mask.shape
        self.label: Ints = np.zeros(grid.count, np.int64)
        combinations = np.zeros((0, 1), bool)
        if zones:
            middles = grid.middles
            inside = np.array([zone.contains(middles) for zone in zones])
            # One combination of zones is one label.
            combinations, labels = np.unique(inside, axis=1, return_inverse=True)
            self.label[:] = np.ravel(labels)
        speeds, ways = [], []
        for combination in combinations.T:
            here = [zone for zone, inside_it in zip(zones, combination.tolist(), strict=True) if inside_it]
            # Where several zones overlap, the slowest limit counts.
            speeds.append(min([zone.speed for zone in here if zone.kind is ZoneKind.SPEED_LIMIT], default=np.inf))
            ways.append(_ways(here, grid.origin[2]))
        self.speeds: Floats = np.array(speeds)
        self.ways = ways
        self._sights: dict[int, Sight] = {}

    @property
    def uniform(self) -> bool:
        """Whether all cells have the same rules."""
        return len(self.speeds) == 1

    def touched(self, begin: tuple[float, float], end: tuple[float, float]) -> list[int]:
        """Return the labels of the cells that the line from `begin` to `end`, in cells, leads through."""
        if self.uniform:
            return [0]
        # A line that a label does not block is nowhere on it.
        return [label for label in range(len(self.speeds)) if not self._sight(label).is_clear(begin, end, 0.0)]

    def _sight(self, label: int) -> Sight:
        sight = self._sights.get(label)
        if sight is None:
            sight = self._sights[label] = Sight((self.label == label).reshape(self._shape))
        return sight

    def allows(self, labels: list[int], direction: tuple[float, float]) -> bool:
        """Return whether one may drive in `direction` (column, row) where all of `labels` hold."""
        return all(self._allows(label, direction) for label in labels)

    def _allows(self, label: int, direction: tuple[float, float]) -> bool:
        ways = self.ways[label]
        # All ways of a place have to agree; none at all allows everything.
        return not len(ways) or bool((ways @ np.array(direction) >= ALONG).all())

    def allowed_mask(self, direction: tuple[int, int]) -> Bools:
        """Return the cells (H * W,) in which one may drive in `direction` (column, row)."""
        by_label = np.array([self._allows(label, direction) for label in range(len(self.speeds))])
        return np.asarray(by_label[self.label])

    def limit(self, labels: list[int]) -> float:
        """Return the lowest speed limit in m/s of `labels`, inf for none."""
        return float(self.speeds[labels].min())


def _ways(zones: list[Zone], yaw: float) -> Floats:
    # In the frame of the grid, which may be turned in the world.
    directions = np.array([zone.direction - yaw for zone in zones if zone.kind is ZoneKind.ONE_WAY])
    # Rows count downwards.
    sines, cosines = trig.sin_cos(directions)
    return np.stack((cosines, -sines), axis=1)


# Steps: from which cells a robot of some size may drive to which of the eight around them, and for what cost.


Array = TypeVar("Array", Bools, Floats)

DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""Steps as (columns, rows); the first four are straight."""
LENGTHS = (1.0,) * 4 + (math.sqrt(2.0),) * 4


class Steps:
    """Steps between middles of cells for a robot with a disc of `radius` m as footprint.

    Cells are numbered with a frame of blocked ones around them (`width` to a row), so that no step leaves the array.
    Between four middles that are clear all is clear, so diagonal steps need the two cells beside them.
    """

    def __init__(self, grid: Grid, rules: Rules, radius: float) -> None:
        self.grid = grid.clear_of(radius)
        self.width = grid.width + 2
        # A frame of blocked cells: steps at the border need no test of their own.
        self.clear_mask: Bools = np.pad(self.grid.free_mask, 1).ravel()
        self.offsets = [down * self.width + right for right, down in DIRECTIONS]
        self.regions: Ints = np.pad(self.grid.regions().reshape(grid.height, grid.width), 1, constant_values=-1).ravel()
        self._speeds = self._framed(rules.speeds[rules.label])
        self._limited = bool(np.isfinite(rules.speeds).any())
        self.enters = [self._enters(number, rules) for number in range(len(DIRECTIONS))]

    def _framed(self, values: Array) -> Array:
        """Return `values` (H * W,) of the cells with a frame of zeros."""
        framed: Array = np.pad(values.reshape(self.grid.free_mask.shape), 1).ravel()
        return framed

    def _enters(self, number: int, rules: Rules) -> Bools:
        """Return the cells that may be entered by step `number`."""
        offset, (right, down) = self.offsets[number], DIRECTIONS[number]
        # A cell's value moves to the cell after the step.
        mask = self.clear_mask & np.roll(self.clear_mask, offset)
        # Diagonally only where both cells beside the step are clear: the disc would touch their corners.
        if right and down:
            mask &= np.roll(self.clear_mask, down * self.width) & np.roll(self.clear_mask, right)
        if not rules.uniform:
            # Both cells have to allow the direction, the one that is left and the one that is entered.
            allowed_mask = self._framed(rules.allowed_mask(DIRECTIONS[number]))
            mask &= allowed_mask & np.roll(allowed_mask, offset)
        return mask

    def avoiding(self, discs: Floats, reach: float) -> Steps:
        """Return these steps without those on which a disc of `reach` touches one of `discs` (K, 3), all in cells."""
        other = copy.copy(self)
        other.clear_mask, other.enters = self.clear_mask.copy(), [mask.copy() for mask in self.enters]
        height, width = self.grid.free_mask.shape
        for x, y, radius in discs.tolist():
            limit = radius + reach - 1e-9
            # A step is at most a diagonal long: those that end farther away are clear.
            far = limit + 1.5
            columns = np.arange(max(math.floor(x - far), 0), min(math.ceil(x + far), width))
            rows = np.arange(max(math.floor(y - far), 0), min(math.ceil(y + far), height))
            cells = (rows[:, None] + 1) * self.width + columns + 1
            right, down = np.broadcast_arrays(columns + 0.5 - x, (rows + 0.5 - y)[:, None])
            other.clear_mask[cells[trig.hypot(right, down) < limit]] = False
            for mask, (across, along), length in zip(other.enters, DIRECTIONS, LENGTHS, strict=True):
                # From the middle that the step comes from, how far along it the disc is nearest.
                share = np.clip(1.0 - (right * across + down * along) / (length * length), 0.0, 1.0)
                near = trig.hypot(right - (1.0 - share) * across, down - (1.0 - share) * along) < limit
                mask[cells[near]] = False
        return other

    def costs(self, speed: float) -> Floats | None:
        """Return how much longer a robot with `speed` m/s takes in each cell, at least 1; None: 1 everywhere."""
        if not self._limited:
            return None
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(self._speeds > 0.0, np.maximum(speed / self._speeds, 1.0), 1.0))

    def number(self, column: int, row: int) -> int:
        """Return the number of a cell."""
        return (row + 1) * self.width + column + 1

    def middle(self, cell: int) -> tuple[float, float]:
        """Return the middle of a cell as (column, row)."""
        row, column = divmod(cell, self.width)
        return column - 0.5, row - 0.5


# CostField: how far it is from every cell to one goal, and which step is the first of the shortest way.


NO_STEP = 8


class CostField:
    """Costs from cells to a goal, in cells at full speed; computed as far as somebody asked.

    Dijkstra's algorithm backwards from `seeds`, cells from which the goal is `costs` away. A step costs at least 1, so
    all cells within 1 of the nearest open one are settled together, in array operations.
    """

    def __init__(self, steps: Steps, seeds: Sequence[int], costs: Sequence[float], delays: Floats | None) -> None:
        self._steps = steps
        self._delays = delays
        size = len(steps.clear_mask)
        self.cost: Floats = np.full(size, np.inf)
        # Bytes, as a route is followed cell by cell and these are read faster than elements of an array.
        self.step = bytearray([NO_STEP]) * size
        self._first = np.frombuffer(self.step, np.uint8)
        self._open: Ints = np.array(seeds, np.int64)
        self.cost[self._open] = costs
        self.settled_below = 0.0
        """Costs below this are final."""

    @property
    def size(self) -> int:
        """Memory in bytes, about."""
        return 9 * len(self.step)

    def grow(self, cells: Sequence[int]) -> None:
        """Settle the costs of `cells`; inf remains for those from which the goal cannot be reached."""
        while len(self._open) and max(self.cost[cell] for cell in cells) >= self.settled_below:
            self._settle_next()

    def _settle_next(self) -> None:
        """Settle the open cells within 1 of the cheapest cost, and open those that lead to them.

        Steps cost at least 1, so what is found meanwhile is not cheaper than what is settled.
        """
        costs = self.cost[self._open]
        self.settled_below = math.floor(float(costs.min())) + 1.0
        near_mask = costs < self.settled_below
        # A cell is open several times if it became nearer.
        front = np.unique(self._open[near_mask])
        found = [self._open[~near_mask]]
        for number, offset in enumerate(self._steps.offsets):
            entered = front[self._steps.enters[number][front]]
            cells = entered - offset
            step: Floats | float = LENGTHS[number]
            if self._delays is not None:
                step = step * np.maximum(self._delays[entered], self._delays[cells])
            costs = self.cost[entered] + step
            nearer_mask = costs < self.cost[cells]
            cells = cells[nearer_mask]
            self.cost[cells] = costs[nearer_mask]
            self._first[cells] = number
            found.append(cells)
        self._open = np.concatenate(found)
        # What was settled with this front and found again is done with.
        self._open = self._open[self.cost[self._open] >= self.settled_below]
        if not len(self._open):
            self.settled_below = math.inf

    def follow(self, cell: int) -> list[int]:
        """Return the cells of the way from `cell` to the last one before the goal, both included."""
        cells, offsets, step = [cell], self._steps.offsets, self.step
        while step[cell] != NO_STEP:
            cell += offsets[step[cell]]
            cells.append(cell)
        return cells


def pulled(points: Sequence[Point], sees: Callable[[Point, Point], bool]) -> list[Point]:
    """Return the first, the last and as few of the `points` between as sight allows, pulled tight from the first on.

    Lines between neighbours are taken as they are; any other line is in the result only if `sees(begin, end)`.
    """
    kept, at, last = [points[0]], 0, len(points) - 1
    while at < last:
        at = _farthest(points, at, sees)
        kept.append(points[at])
    return kept


def _farthest(points: Sequence[Point], at: int, sees: Callable[[Point, Point], bool]) -> int:
    """Return the index of a point that is seen from that at `at`, far ahead: by doubling, then by halving the range."""
    last, best, stride = len(points) - 1, at + 1, 2
    while best < last:
        ahead = min(at + stride, last)
        if not sees(points[at], points[ahead]):
            break
        best, stride = ahead, 2 * stride
    else:
        return best
    low, high = best, min(at + stride, last)
    while high - low > 1:
        middle = (low + high) // 2
        if sees(points[at], points[middle]):
            low = middle
        else:
            high = middle
    return low


THIN = 1e-6
"""Radius in cells of a robot without a footprint."""
MOST_MEMORY = 256_000_000
"""Of the kept fields, in bytes: those of about 400 goals on 70,000 cells."""
RINGS_APART, RING_PLACES = 0.1, 16
"""Places around one without room that are looked at: rings so far apart in m, and places in each ring."""


class Way(NamedTuple):
    """Points (column, row) in cells, the speed limits in m/s of the lines between them, and their cost in cells."""

    points: list[Point]
    limits: list[float]
    cost: float


class _WayIn(NamedTuple):
    """A cell that a place is joined to by a straight line, and the cost of that line."""

    cell: int
    cost: float


class Across:
    """Finds ways for a disc of `radius` m that touches no blocked cell of `grid` and keeps the rules.

    Points are (column, row) in cells. One field per goal serves all that go there; the last ones are kept.
    """

    def __init__(self, grid: Grid, sight: Sight, rules: Rules, radius: float) -> None:
        self._sight, self._rules = sight, rules
        # A point without extent could pass along the edge between two blocked cells.
        self._reach = max(radius / grid.cell, THIN)
        self._apart = RINGS_APART / grid.cell
        self._steps = Steps(grid, rules, radius)
        self._discs: Floats = np.empty((0, 3))
        self._fields: OrderedDict[tuple[Point, float], tuple[CostField, list[_WayIn]]] = OrderedDict()

    def avoiding(self, discs: Floats) -> Across:
        """Return what finds ways that also touch none of `discs` (K, 3): column, row and radius in cells."""
        other = copy.copy(self)
        other._discs, other._fields = discs, OrderedDict()
        other._steps = self._steps.avoiding(discs, self._reach)
        return other

    def is_clear(self, begin: Point, end: Point) -> bool:
        """Return whether the disc can move from `begin` to `end` along a straight line, rules aside."""
        return self._sight.is_clear(begin, end, self._reach) and self._is_off_discs(begin, end)

    def _is_off_discs(self, begin: Point, end: Point) -> bool:
        if not len(self._discs):
            return True
        away = distances_to_lines(self._discs[:, :2], np.array(begin), np.array(end))
        return bool((away >= self._discs[:, 2] + self._reach - 1e-9).all())

    def is_free(self, place: Point) -> bool:
        """Return whether the disc can be at `place`."""
        # Off the map there are no cells that could be asked.
        height, width = self._steps.grid.free_mask.shape
        if not (0.0 <= place[0] <= width and 0.0 <= place[1] <= height):
            return False
        return self._is_open(self._square(place)) or self.is_clear(place, place)

    def line(self, begin: Point, end: Point) -> Way | None:
        """Return the straight line from `begin` to `end` as a way, None where something is in it."""
        return self._line(begin, end, self._reach)

    def line_out(self, begin: Point, end: Point) -> Way | None:
        """Return `line`; from a `begin` that the disc cannot be at, one on which it comes no nearer to anything."""
        return self._line(begin, end, self._room_at(begin))

    def way_out(self, begin: Point) -> Way | None:
        """Return `line_out` to the nearest place from which there are ways; None where there is none near."""
        room = self._room_at(begin)
        return next((way for place in self.places_out(begin) if (way := self._line(begin, place, room))), None)

    def places_out(self, begin: Point) -> Iterator[Point]:
        """Yield places around `begin` from which there are ways, the nearest first."""
        turns = [2.0 * math.pi * number / RING_PLACES for number in range(RING_PLACES)]
        rays = [trig.sin_cos_of(turn) for turn in turns]
        # Twice the radius leads from one wall to the next, and two cells to the middle of a clear one.
        for ring in range(1, 1 + math.ceil(2.0 * (self._reach + 1.0) / self._apart)):
            for sine, cosine in rays:
                place = begin[0] + ring * self._apart * cosine, begin[1] + ring * self._apart * sine
                if self.has_ways(place):
                    yield place

    def _room_at(self, place: Point) -> float:
        """Return the radius in cells of the largest disc that can be at `place`, at most that of the robot."""
        if self.is_clear(place, place):
            return self._reach
        low, high = 0.0, self._reach
        while high - low > THIN:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._sight.is_clear(place, place, middle) else (low, middle)
        return low

    def _line(self, begin: Point, end: Point, reach: float) -> Way | None:
        # A point that touches a wall could go through it.
        if reach < THIN or not self._sight.is_clear(begin, end, reach) or not self._is_off_discs(begin, end):
            return None
        labels = self._rules.touched(begin, end)
        if not self._rules.allows(labels, _direction(begin, end)):
            return None
        return Way([begin, end], [self._rules.limit(labels)], distance(begin, end))

    def joined(self, begin: Point, end: Point) -> bool:
        """Return whether there is a way from `begin` to `end` if zones are left aside."""
        regions = self._steps.regions
        # Regions of cells that lead to each other: two numbers are compared in place of a search.
        ends = {regions[entry.cell] for entry in self._entries(end, outward=False)}
        return any(regions[entry.cell] in ends for entry in self._entries(begin, outward=True))

    def has_ways(self, place: Point) -> bool:
        """Return whether the disc can be at `place`, and drive from there to the middle of a cell."""
        return self.is_free(place) and bool(self._entries(place, outward=True))

    def find(self, begin: Point, end: Point, speed: float) -> Way | None:
        """Return the fastest way along cells for a robot with `speed` m/s, smoothed; None where there is none."""
        # Where all rules are the same everywhere, nothing is faster than straight on.
        straight = self.line(begin, end)
        if straight is not None and self._rules.uniform:
            return straight
        field, ends = self._field(end, speed)
        regions = self._steps.regions
        reachable = {regions[entry.cell] for entry in ends}
        # An entry from which the goal cannot be reached would let the search run through its whole region.
        entries = [entry for entry in self._entries(begin, outward=True) if regions[entry.cell] in reachable]
        if not entries:
            return None
        # A field grows from the goal until these cells are known, and is kept: the next robot to this goal continues
        # it.
        field.grow([entry.cell for entry in entries])
        best = min(entries, key=lambda entry: entry.cost + float(field.cost[entry.cell]))
        cost = best.cost + float(field.cost[best.cell])
        if not math.isfinite(cost):
            return None
        cells = field.follow(best.cell)
        return self._smoothed(begin, cells, end, cost)

    def reached(self, begin: Point) -> Floats:
        """Return the middles (K, 2) of the cells that ways lead to from `begin`, the nearest first.

        One-way zones count as if they were the other way round: who asks for a way there hears whether there is one.
        """
        entries = self._entries(begin, outward=True)
        field = CostField(self._steps, [entry.cell for entry in entries], [entry.cost for entry in entries], None)
        # Nothing leads to the frame around the map, so asking for it settles all the rest.
        field.grow([0])
        cells = np.flatnonzero(np.isfinite(field.cost))
        cells = cells[np.argsort(field.cost[cells].round(9), kind="stable")]
        rows, columns = np.divmod(cells, self._steps.width)
        return np.column_stack((columns - 0.5, rows - 0.5))

    # ---- places and cells --------------------------------------------------------------------------------------------

    def _field(self, goal: Point, speed: float) -> tuple[CostField, list[_WayIn]]:
        """Return the costs of all cells to a goal for robots of `speed` in m/s, and where the goal is entered from.

        Kept for the next question; the least recently used go where all of them have more than MOST_MEMORY cells.
        """
        delays = self._steps.costs(speed)
        # Without limits the fields of fast and of slow robots are the same.
        key = (goal, speed if delays is not None else 0.0)
        kept = self._fields.get(key)
        if kept is None:
            ends = self._entries(goal, outward=False)
            cells, costs = [entry.cell for entry in ends], [entry.cost for entry in ends]
            kept = self._fields[key] = CostField(self._steps, cells, costs, delays), ends
            # The least recently used go first; the one just made stays, however large it is.
            while len(self._fields) > 1 and len(self._fields) * kept[0].size > MOST_MEMORY:
                self._fields.popitem(last=False)
        self._fields.move_to_end(key)
        return kept

    def _entries(self, place: Point, *, outward: bool) -> list[_WayIn]:
        """Return cells that can be driven to straight from `place`, or from which it can; the next ones that exist."""
        square = self._square(place)
        entries = self._joined(place, square, outward=outward, look=not self._is_open(square))
        # Near walls the four cells around a place may all be blocked for this robot, and others still within its reach.
        return entries or self._joined(place, self._around(place), outward=outward, look=True)

    def _square(self, place: Point) -> list[int]:
        """Return the four cells whose middles are the corners of a square around `place`, a place on the map."""
        left, top = math.floor(place[0] - 0.5), math.floor(place[1] - 0.5)
        return [self._steps.number(left + right, top + down) for down in (0, 1) for right in (0, 1)]

    def _is_open(self, square: list[int]) -> bool:
        """Return whether the disc can be anywhere in a square; between four clear middles it can."""
        # A disc may be smaller than the square.
        clear = self._steps.clear_mask
        return not len(self._discs) and all(clear[cell] for cell in square)

    def _around(self, place: Point) -> list[int]:
        steps, reach = self._steps, 1 + math.ceil(self._reach)
        left, top = math.floor(place[0] - 0.5), math.floor(place[1] - 0.5)
        height, width = steps.grid.free_mask.shape
        rows = range(max(top - reach, 0), min(top + reach + 2, height))
        columns = range(max(left - reach, 0), min(left + reach + 2, width))
        return [steps.number(column, row) for row in rows for column in columns]

    def _joined(self, place: Point, cells: Iterable[int], *, outward: bool, look: bool) -> list[_WayIn]:
        """Return the cells among `cells` that a straight line joins to a place, with its length in m.

        `outward`: driven from the place to the cell, else the other way. Without `look` the line is known to be clear.
        Lines that the rules of the site forbid are left out.
        """
        entries = []
        for cell in cells:
            if not self._steps.clear_mask[cell]:
                continue
            middle = self._steps.middle(cell)
            line = (place, middle) if outward else (middle, place)
            if look and not self.is_clear(*line):
                continue
            length = distance(*line)
            if not self._rules.uniform and not self._rules.allows(self._rules.touched(*line), _direction(*line)):
                continue
            entries.append(_WayIn(cell, length))
            # On the middle of a cell: no other entry can be better.
            if length < 1e-9:
                return entries[-1:]
        return entries

    # ---- smoothing ---------------------------------------------------------------------------------------------------

    def _smoothed(self, begin: Point, cells: list[int], end: Point, cost: float) -> Way:
        """Return the way over `cells` with as few corners as its clearance, and the rules along it, allow.

        `cost` is that of the search, and stays.
        """
        points = [begin, *(self._steps.middle(cell) for cell in self._corners(cells)), end]
        # A place that is the middle of its cell would be there twice.
        points = [point for at, point in enumerate(points) if at == 0 or distance(points[at - 1], point) > 1e-9]
        if len(points) == 1:
            points = [begin, end]
        if self._rules.uniform:
            points = pulled(points, self.is_clear)
            return Way(points, [self._rules.limit([0])] * (len(points) - 1), cost)
        return self._by_rules(points, cost)

    def _corners(self, cells: list[int]) -> list[int]:
        """Return the first and the last of `cells`, and those where the direction or the rules change."""
        numbers = np.array(cells)
        if len(numbers) < 3:
            return cells
        steps = np.diff(numbers)
        kept_mask = np.ones(len(numbers), bool)
        # A change of cell numbers is a direction; where it changes there is a corner.
        kept_mask[1:-1] = steps[1:] != steps[:-1]
        if not self._rules.uniform:
            rows, columns = np.divmod(numbers, self._steps.width)
            labels = self._rules.label[(rows - 1) * (self._steps.width - 2) + columns - 1]
            changes = labels[1:] != labels[:-1]
            kept_mask[1:] |= changes
            # Both cells at a border are kept, so that the line across it is short.
            kept_mask[:-1] |= changes
        corners: list[int] = numbers[kept_mask].tolist()
        return corners

    def _by_rules(self, points: list[Point], cost: float) -> Way:
        """Return the way along `points`, smoothed only where the same rules hold, so that none is cut short."""
        labels = [self._rules.touched(*line) for line in pairwise(points)]
        kept, limits, at = [points[0]], list[float](), 0
        while at < len(labels):
            until = at + 1
            # Only within one zone: pulled across a border, the line could enter a zone that the path avoids.
            while len(labels[at]) == 1 and until < len(labels) and labels[until] == labels[at]:
                until += 1
            pieces = pulled(points[at : until + 1], partial(self._sees, labels[at]))
            kept += pieces[1:]
            limits += [self._rules.limit(labels[at])] * (len(pieces) - 1)
            at = until
        return Way(kept, limits, cost)

    def _sees(self, labels: list[int], begin: Point, end: Point) -> bool:
        return self.is_clear(begin, end) and self._rules.touched(begin, end) == labels


def _direction(begin: Point, end: Point) -> tuple[float, float]:
    length = distance(begin, end) or 1.0
    return (end[0] - begin[0]) / length, (end[1] - begin[1]) / length


def joined(*ways: Way) -> Way:
    """Return ways one after the other as one; each begins where the one before it ends."""
    points, limits = [ways[0].points[0]], list[float]()
    for way in ways:
        for point, limit in zip(way.points[1:], way.limits, strict=True):
            # A place on a node needs no line to it.
            if distance(points[-1], point) > 1e-9:
                points.append(point)
                limits.append(limit)
    return Way(points, limits, sum(way.cost for way in ways))


def as_array(points: list[Point]) -> Floats:
    """Return `points` as an array (K, 2)."""
    return np.array(points, np.float64).reshape(-1, 2)
