"""Routes across the free space of a site, for robots of one size."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.sites.grid import Grid
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.lines import distances_to_lines
from fleet_sim.traffic.field import CostField
from fleet_sim.traffic.points import Point, distance
from fleet_sim.traffic.rules import Rules
from fleet_sim.traffic.sight import Sight
from fleet_sim.traffic.steps import Steps


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
RINGS_APART, DIRECTIONS = 0.1, 16
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
        # Off the map there are no cells that could be asked.
        """Return whether the disc can be at `place`."""
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
        turns = [2.0 * math.pi * number / DIRECTIONS for number in range(DIRECTIONS)]
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
