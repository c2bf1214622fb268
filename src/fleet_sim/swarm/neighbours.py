"""Finds points near each other with a grid; results do not depend on the grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.collision.broad import radix_order
from fleet_sim.core.columns import numbers_of
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.sensors.nearby import ragged_range
from fleet_sim.swarm.agents import Group

# Largest number of a cell; points farther out share the last one, which costs time but loses no pair.
_LAST_CELL = 2.0**30
_STRIDE = 1 << 32
# Covers the rounding of numbers of cells up to the last one.
_SLACK = 1.000001
_CELLS_PER_POINT = 4
_MIN_CELLS = 1024
_FAR = 1e100


def pairs_within(positions: Floats, reach: float) -> tuple[Rows, Rows]:
    """Return the pairs (first, second) of points (N, 2) at most `reach` apart: first < second, each once, sorted."""
    order, keys, _ = _sorted_cells(positions, positions, reach)
    # Each pair is found from one side: a point looks at the rest of its own and the next cell, and at the line above.
    ahead = np.arange(1, len(keys) + 1)
    pieces = [(ahead, np.searchsorted(keys, keys + 1, "right"))]
    pieces.append((np.searchsorted(keys, keys + (_STRIDE - 1)), np.searchsorted(keys, keys + (_STRIDE + 1), "right")))
    one, other = _expanded(pieces)
    first, second = order.take(one), order.take(other)
    # The grid yields pairs in an order of its own; sorting makes sums over neighbours reproducible.
    first, second = _sorted(np.minimum(first, second), np.maximum(first, second))
    return _within(positions, first, second, positions, reach)


def both_ways(first: Rows, second: Rows) -> tuple[Rows, Rows]:
    """Return (owner, other) of sorted pairs seen from both sides; each owner has its others in ascending order."""
    return np.concatenate((second, first)), np.concatenate((first, second))


def targets_within(origins: Floats, points: Floats, reach: float) -> tuple[Rows, Rows]:
    """Return (origin, point) for each of `points` (M, 2) at most `reach` from one of `origins` (N, 2), sorted."""
    return _within(origins, *_sorted(*targets_about(origins, points, reach)), points, reach)


def targets_about(origins: Floats, points: Floats, reach: float) -> tuple[Rows, Rows]:
    """Return (origin, point) for each of `points` (M, 2) at most `reach` from one of `origins` (N, 2) on each axis.

    They come in no special order.
    """
    if not len(origins) or not len(points):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order, keys, cells = _sorted_cells(points, origins, reach)
    pieces = []
    for line in (-1, 0, 1):
        middle = cells + line * _STRIDE
        pieces.append((np.searchsorted(keys, middle - 1), np.searchsorted(keys, middle + 1, "right")))
    origin, place = _expanded(pieces)
    point = order.take(place)
    away = np.abs(points.take(point, axis=0) - origins.take(origin, axis=0))
    # A little more, so that rounding loses no pair at exactly the reach.
    reach *= 1.0 + 1e-12
    near = np.flatnonzero((away[:, 0] <= reach) & (away[:, 1] <= reach))
    return origin.take(near), point.take(near)


def is_limited(reach: float, positions: Floats) -> bool:
    """Return whether `reach` leaves some pair of `positions` (N, 2) out, so that a grid can help."""
    if not np.isfinite(reach) or not len(positions):
        return False
    low_x, low_y = positions[:, 0].min(), positions[:, 1].min()
    high_x, high_y = positions[:, 0].max(), positions[:, 1].max()
    return bool(4.0 * reach < max(high_x - low_x, high_y - low_y))


def near_in_crowd(group: Group, reach: float, team: int = -1) -> tuple[Rows, Rows]:
    """Return (agent, other): the agents at most `reach` from each agent of `group`, without itself.

    `agent` counts in the group, `other` in the world's `everyone`. Only others of `team` are returned, unless it is -1.
    """
    everyone = group.world.everyone
    positions = everyone.positions
    # Where the group is everybody, each pair is looked for once and used both ways.
    if len(group) == len(everyone) and bool((group.rows == everyone.rows).all()):
        agent, other = both_ways(*pairs_within(positions, reach))
    else:
        agent, other = targets_within(group.positions, positions, reach)
        kept = np.flatnonzero(group.rows.take(agent) != everyone.rows.take(other))
        agent, other = agent.take(kept), other.take(kept)
    if team >= 0:
        kept = np.flatnonzero(everyone.teams.take(other) == team)
        agent, other = agent.take(kept), other.take(kept)
    return agent, other


def counts(owner: Rows, count: int) -> Ints:
    """Return how often (count,) each of `count` rows is an owner."""
    return np.bincount(owner, minlength=count)


def _sorted_cells(points: Floats, origins: Floats, reach: float) -> tuple[Rows, Ints, Ints]:
    """Return the order of `points` by cell, the cells in that order, and those of `origins`.

    Points within the reach of each other on each axis are in the same cell, or in neighbouring ones.
    """
    size = max(reach, 1e-9) * _SLACK
    lines = []
    for axis in (1, 0):
        low = min(points[:, axis].min(initial=np.inf), origins[:, axis].min(initial=np.inf))
        # What is no number is put somewhere, and is near nobody.
        both = [np.fmin((values[:, axis] - low) / size, _LAST_CELL) for values in (points, origins)]
        lines.append([values.astype(np.int64) for values in both])
    # One more than a cell: each has a neighbour to the left.
    cells, others = (down * _STRIDE + along + 1 for down, along in zip(*lines, strict=True))
    order = np.argsort(cells, kind="stable")
    return order, cells.take(order), others


def _expanded(pieces: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """Return (owner, place): for each owner k the places from begins[k] up to ends[k], of each piece (begins, ends)."""
    owners, places = [], []
    for begins, ends in pieces:
        counts = np.maximum(ends - begins, 0)
        owners.append(np.repeat(np.arange(len(begins)), counts))
        places.append(ragged_range(begins, counts))
    return np.concatenate(owners), np.concatenate(places)


def _within(a: Floats, first: Rows, second: Rows, b: Floats, reach: float) -> tuple[Rows, Rows]:
    x = b[:, 0].take(second) - a[:, 0].take(first)
    y = b[:, 1].take(second) - a[:, 1].take(first)
    near = np.flatnonzero(x * x + y * y <= reach * reach)
    return first.take(near), second.take(near)


def _sorted(first: Rows, second: Rows) -> tuple[Rows, Rows]:
    """Return pairs sorted by first, then second."""
    if not len(first):
        return first, second
    # Radix sort from the lower key to the higher one: stable, so ties in `first` stay sorted by `second`.
    order = radix_order(second, int(second.max()) + 1)
    left = first.take(order)
    order = order.take(radix_order(left, int(left.max()) + 1))
    return first.take(order), second.take(order)


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
