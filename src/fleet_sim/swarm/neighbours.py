"""Finds points near each other with a grid; results do not depend on the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Group
from fleet_sim.world.columns import numbers_of

_CELLS_PER_POINT = 4
_MIN_CELLS = 1024
_FAR = 1e100


def pairs_within(positions: Floats, reach: float, *, compiled: bool) -> tuple[Rows, Rows]:
    """Return the pairs (first, second) of points (N, 2) at most `reach` apart: first < second, each once, sorted."""
    return _found(positions, positions, reach, later=True, compiled=compiled)


def both_ways(first: Rows, second: Rows) -> tuple[Rows, Rows]:
    """Return (owner, other) of sorted pairs seen from both sides; each owner has its others in ascending order."""
    return np.concatenate((second, first)), np.concatenate((first, second))


def targets_within(origins: Floats, points: Floats, reach: float, *, compiled: bool) -> tuple[Rows, Rows]:
    """Return (origin, point) for each of `points` (M, 2) at most `reach` from one of `origins` (N, 2), sorted."""
    return _found(origins, points, reach, later=False, compiled=compiled)


def near_in_crowd(group: Group, reach: float, team: int = -1) -> tuple[Rows, Rows]:
    """Return (agent, other): the agents at most `reach` from each agent of `group`, without itself.

    `agent` counts in the group, `other` in the world's `everyone`. Only others of `team` are returned, unless it is -1.
    """
    everyone = group.world.everyone
    positions, compiled = everyone.positions, everyone.columns.compiled
    # Where the group is everybody, each pair is looked for once and used both ways.
    if len(group) == len(everyone) and bool((group.rows == everyone.rows).all()):
        agent, other = both_ways(*pairs_within(positions, reach, compiled=compiled))
    else:
        agent, other = targets_within(group.positions, positions, reach, compiled=compiled)
        kept = np.flatnonzero(group.rows.take(agent) != everyone.rows.take(other))
        agent, other = agent.take(kept), other.take(kept)
    if team >= 0:
        kept = np.flatnonzero(everyone.teams.take(other) == team)
        agent, other = agent.take(kept), other.take(kept)
    return agent, other


def counts(owner: Rows, count: int) -> Ints:
    """Return how often (count,) each of `count` rows is an owner."""
    return np.bincount(owner, minlength=count)


class PointCells(NamedTuple):
    """Points by square cells: the corner of the first and one over the size, columns and lines, and their points.

    The points of cell c are `order[begins[c] : begins[c + 1]]`, at `places` (M, 2). `near` has room for all points.
    """

    frame: Floats
    size: Ints
    begins: Ints
    order: Ints
    places: Floats
    near: Ints


def cells_of(positions: Floats, reach: float, among: Floats | None = None, *, compiled: bool) -> PointCells:
    """Return points (M, 2), at least one, by cells of at least `reach`.

    `among` are the points (N, 2) that the grid is laid over, those among them, where these are more.
    """
    among, count = positions if among is None else among, len(positions)
    # By column, which is several times as fast as by row.
    x, y = among[:, 0], among[:, 1]
    low_x, low_y = float(x.min()), float(y.min())
    spans = float(x.max()) - low_x, float(y.max()) - low_y
    # Of what is infinite, or no number, all is in the first cells or the last ones.
    width, height = (span if span < _FAR else _FAR for span in spans)
    most = _CELLS_PER_POINT * count + _MIN_CELLS
    # A little larger, so that rounding brings nobody in reach further than one cell away.
    inverse = 1.0 / (min(max(reach, 1e-6), _FAR) * (1.0 + 1e-9))
    while (width * inverse + 1.0) * (height * inverse + 1.0) > most:
        inverse *= 0.5
    columns, lines = int(width * inverse) + 1, int(height * inverse) + 1
    room = (
        np.zeros(columns * lines + 2, np.int64),
        np.empty(count, np.int64),
        np.empty((count, 2)),
        np.empty(count + 1, np.int64),
    )
    cells = PointCells(np.array([low_x, low_y, inverse]), np.array([columns, lines]), *room)
    if compiled:
        _sort_points(np.ascontiguousarray(positions), cells)
    else:
        _sort_points.in_python(numbers_of(positions), numbers_of(cells))
    return cells


@inlined
def column_of(place: float, low: float, inverse: float, columns: int) -> int:
    """Return the column of a place, of one beside the cells the nearest."""
    offset = (place - low) * inverse
    # What is no number is not above 0. Cut before it is made whole: a large one would become any integer.
    return int(min(offset, columns - 1.0)) if offset > 0.0 else 0


@compiled_step
def _sort_points(positions: Floats, cells: PointCells) -> None:
    """Fill `cells`; points of one cell are in ascending order."""
    low_x, low_y, inverse = cells.frame[0], cells.frame[1], cells.frame[2]
    columns, lines, begins = cells.size[0], cells.size[1], cells.begins
    for point in range(len(positions)):
        x, y = positions[point, 0], positions[point, 1]
        cell = column_of(y, low_y, inverse, lines) * columns + column_of(x, low_x, inverse, columns)
        begins[cell + 2] += 1
    for cell in range(len(begins) - 2):
        begins[cell + 2] += begins[cell + 1]
    for point in range(len(positions)):
        x, y = positions[point, 0], positions[point, 1]
        cell = column_of(y, low_y, inverse, lines) * columns + column_of(x, low_x, inverse, columns)
        # begins[c + 1] is where the next point of cell c goes, and at last where cell c + 1 begins.
        place = begins[cell + 1]
        cells.order[place] = point
        cells.places[place, 0], cells.places[place, 1] = positions[point, 0], positions[point, 1]
        begins[cell + 1] += 1


def _found(origins: Floats, points: Floats, reach: float, *, later: bool, compiled: bool) -> tuple[Rows, Rows]:
    """Return (origin, point) of those at most `reach` apart, sorted; with `later` points with a higher number only."""
    if not len(origins) or not len(points):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # A little more, so that rounding loses no pair at exactly the reach.
    cells, square = cells_of(points, reach * (1.0 + 1e-9), compiled=compiled), reach * reach
    begins, second = np.zeros(len(origins) + 1, np.int64), np.empty(0, np.int64)
    given = np.ascontiguousarray(origins), cells, square, later, begins
    # Counted first, then written.
    for _ in range(2):
        if compiled:
            _find_near(*given, second)
        else:
            views: Any = [numbers_of(part) for part in (*given, second)]
            _find_near.in_python(*views)
        if not len(second):
            np.cumsum(begins, out=begins)
            second = np.empty(begins[-1], np.int64)
        if not len(second):
            break
    first = np.repeat(np.arange(len(origins)), np.diff(begins))
    # The cells yield points in an order of their own; sorting makes sums over neighbours reproducible.
    return first, np.sort(first * len(points) + second) % len(points)


@compiled_step
def _find_near(origins: Floats, cells: PointCells, square: float, later: bool, begins: Ints, second: Ints) -> None:
    """Count the points near each origin into `begins` one further on, or write them to `second` from there on."""
    columns, lines, inverse = cells.size[0], cells.size[1], cells.frame[2]
    for origin in range(len(origins)):
        x, y = origins[origin, 0], origins[origin, 1]
        column, line = column_of(x, cells.frame[0], inverse, columns), column_of(y, cells.frame[1], inverse, lines)
        found = begins[origin] if len(second) else 0
        for strip in range(max(line - 1, 0), min(line + 2, lines)):
            # Cells of a line follow each other, so three beside each other are one stretch.
            begin = cells.begins[strip * columns + max(column - 1, 0)]
            end = cells.begins[strip * columns + min(column + 1, columns - 1) + 1]
            for place in range(begin, end):
                across, along, point = cells.places[place, 0] - x, cells.places[place, 1] - y, cells.order[place]
                if across * across + along * along <= square and (point > origin or not later):
                    if len(second):
                        second[found] = point
                    found += 1
        if not len(second):
            begins[origin + 1] = found


# Visibility: discs and walls in a sector of a circle, rays, and lines of sight. All are exact tests. Sectors are
# given by the observer's origin and heading, the half angle and the range; a target is (ahead, aside), its position
# in the observer's frame. Discs are looked at by kernels: an agent that sees one looks no further. Rays and walls are
# tested on arrays.


@saved
@dataclass(frozen=True)
class Sector:
    """A field of view: `half_angle` rad to both sides of straight ahead (pi and more: all round), `reach` m deep."""

    half_angle: float
    reach: float

    @cached_property
    def edge(self) -> tuple[float, float]:
        """Sine and cosine of the half angle."""
        return trig.sin_cos_of(self.half_angle)

    def segment_distances(self, begin: Floats, end: Floats) -> Floats:
        """Return how far (M,) the nearest visible point of each segment is from the observer; inf where none is seen.

        `begin` and `end` (2, M) are the ends in the observer's frame.
        """
        way = end - begin
        square = way[0] * way[0] + way[1] * way[1]
        # A segment of length 0 is its begin.
        safe = np.where(square > 0.0, square, 1.0)
        share = np.clip(-(begin[0] * way[0] + begin[1] * way[1]) / safe, 0.0, 1.0)
        near_x, near_y = begin[0] + share * way[0], begin[1] + share * way[1]
        distances = np.sqrt(near_x * near_x + near_y * near_y)
        if self.half_angle < math.pi:
            sine, cosine = self.edge
            off = np.abs(near_y)
            inside_mask = self._inside(near_x * sine - off * cosine, near_x * cosine + off * sine)
            distances = np.where(inside_mask, distances, np.inf)
            # The nearest point may be outside of the sector while the segment still enters it, over one of the edges.
            for side in (-sine, sine):
                distances = np.minimum(distances, ray_segment_distances(cosine, side, begin, end))
        return np.asarray(np.where(distances <= self.reach, distances, np.inf))

    def _inside(self, side: Floats, along: Floats) -> Bools:
        """Return which points lie between the straight edges, from their distances to one edge and along it."""
        return np.asarray((side >= 0.0) & ((along >= 0.0) | (self.half_angle > 0.5 * math.pi)))


Some = TypeVar("Some", float, Floats)


def in_frame(x: Some, y: Some, cosine: Some, sine: Some) -> tuple[Some, Some]:
    """Return (ahead, aside) of offsets (x, y) in the frame turned by an angle with `cosine` and `sine`."""
    return x * cosine + y * sine, y * cosine - x * sine


def ray_segment_distances(cosine: float, sine: float, begin: Floats, end: Floats) -> Floats:
    """Return how far (M,) along the ray from the origin in direction (cosine, sine) it meets each segment; inf: never.

    `begin` and `end` (2, M) are the segments' ends. One along the ray is met where others go on from its ends.
    """
    way = end - begin
    turn = cosine * way[1] - sine * way[0]
    begin_side = cosine * begin[1] - sine * begin[0]
    # Exactly 0: nearly parallel segments still have a well-defined, if distant, intersection.
    parallel_mask = turn == 0.0
    safe = np.where(parallel_mask, 1.0, turn)
    # Where they are as good as parallel it overflows to infinity: they do not meet within the segment.
    with np.errstate(over="ignore"):
        share = -begin_side / safe
        # Cramer's rule: `turn` is the determinant of both directions.
        along = (begin[0] * way[1] - begin[1] * way[0]) / safe
    met_mask = ~parallel_mask & (share >= 0.0) & (share <= 1.0) & (along >= 0.0)
    return np.asarray(np.where(met_mask, along, np.inf))


LINE = -1.0


class Views(NamedTuple):
    """Of each observer (N,): half angle, reach, sine and cosine of the half angle; sine and cosine of where it looks.

    With the half angle LINE it looks along a line, and as far as the middle of a disc, which must not be behind it.
    Places are those of the observers (N, 2), and their rows, which they do not see.
    """

    half_angle: Floats
    reach: Floats
    edge_sine: Floats
    edge_cosine: Floats
    sine: Floats
    cosine: Floats
    x: Floats
    y: Floats
    rows: Rows


class Discs(NamedTuple):
    """Rows, middles and radii of discs (M,)."""

    rows: Rows
    x: Floats
    y: Floats
    radii: Floats


FEW = 64
"""Discs up to which an observer looks at all of them: sorting them takes longer."""


def see_discs(views: Views, discs: Discs, *, compiled: bool) -> Bools:
    """Return which observers (N,) have a disc in their sector, or over its edge."""
    seen_mask, count = np.zeros(len(views.rows), np.bool_), len(discs.rows)
    if not count:
        return seen_mask
    if count > FEW and len(views.rows) > 1:
        # Of discs the edge is seen, so the largest radius counts too.
        reach = float(views.reach.max()) + float(discs.radii.max())
        cells = cells_of(np.stack((discs.x, discs.y), axis=1), reach, compiled=compiled)
        frame, size, begins, order = cells[:4]
    else:
        # All in one cell.
        frame, size, begins, order = np.zeros(3), np.ones(2, np.int64), np.array([0, count]), np.arange(count)
    if compiled:
        _look(views, discs, (frame, size, begins, order), seen_mask)
    else:
        # Lists are read faster still than memory is.
        parts: Any = tuple(values.tolist() for values in (frame, size, begins, order))
        _look.in_python(_listed(views), _listed(discs), parts, numbers_of(seen_mask))
    return seen_mask


def _listed(arrays: Any) -> Any:
    return type(arrays)(*(values.tolist() for values in arrays))


@inlined
def sees(ahead: float, aside: float, radius: float, observer: int, views: Views) -> bool:
    """Return whether a disc about (ahead, aside) touches the sector of an observer, or its edge."""
    reach = views.reach[observer]
    # By the rim: a disc is seen where any point of it is.
    inner = reach + radius
    # Not `>`, which is false of what is no number.
    if not ahead * ahead + aside * aside <= inner * inner:
        return False
    half_angle = views.half_angle[observer]
    if half_angle == LINE:
        return 0.0 <= ahead <= reach and abs(aside) <= radius
    # All around there are no edges to be outside of.
    if half_angle >= math.pi:
        return True
    sine, cosine, off = views.edge_sine[observer], views.edge_cosine[observer], abs(aside)
    # How far its middle is outside of the nearer edge of the sector.
    outside = off * cosine - ahead * sine
    if not outside <= radius:
        return False
    along = ahead * cosine + off * sine
    # Its middle is between the edges; in a sector of more than half a turn, also behind them.
    if outside <= 0.0 and (along >= 0.0 or half_angle > 0.5 * math.pi):
        return True
    # Else it is seen if it reaches the edge, which ends at the reach: the nearest point of that is within its radius.
    foot = min(max(along, 0.0), reach)
    miss_ahead, miss_off = ahead - foot * cosine, off - foot * sine
    return miss_ahead * miss_ahead + miss_off * miss_off <= radius * radius


@compiled_step
def _look(views: Views, discs: Discs, cells: tuple[Floats, Ints, Ints, Ints], seen_mask: Bools) -> None:
    """Set `seen_mask` of observers that see one of `discs`, which are in `cells` of at least everybody's reach."""
    frame, size, begins, order = cells
    columns, lines, inverse = size[0], size[1], frame[2]
    for observer in range(len(views.rows)):
        row, x, y = views.rows[observer], views.x[observer], views.y[observer]
        sine, cosine, seen = views.sine[observer], views.cosine[observer], False
        column, line = 0, 0
        if lines * columns > 1:
            # Those outside of the cells look from the nearest one.
            column, line = column_of(x, frame[0], inverse, columns), column_of(y, frame[1], inverse, lines)
        # The line of cells that the observer is in comes first: most see somebody who is near.
        for turn in range(3 if lines > 1 else 1):
            strip = line + (0 if turn == 0 else 2 * turn - 3)
            if seen or strip < 0 or strip >= lines:
                continue
            # Cells of a line follow each other, so three beside each other are one stretch.
            begin = begins[strip * columns + max(column - 1, 0)]
            end = begins[strip * columns + min(column + 1, columns - 1) + 1]
            for place in range(begin, end):
                disc = order[place]
                if discs.rows[disc] == row:
                    continue
                away_x, away_y = discs.x[disc] - x, discs.y[disc] - y
                ahead, aside = away_x * cosine + away_y * sine, away_y * cosine - away_x * sine
                if sees(ahead, aside, discs.radii[disc], observer, views):
                    seen = True
                    break
        seen_mask[observer] = seen
