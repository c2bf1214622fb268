"""Boids by compiled code: who is near whom, and the three wishes, in one pass over the agents."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.kernels import compiled_step, inlined

_CELLS_PER_POINT = 4
_MIN_CELLS = 1024
# Farther apart, points are left to arrays.
_FAR = 1e9
_FEW = 20
_GAPS = (701, 301, 132, 57, 23, 10, 4, 1)


class Flock(NamedTuple):
    """Everybody: rows (M,), positions and velocities (M, 2), teams (M,)."""

    rows: Rows
    positions: Floats
    velocities: Floats
    teams: Ints


class FlockCells(NamedTuple):
    """Points by square cells: the corner of the first and one over the size, columns and lines, and their points.

    The points of cell c are `order[begins[c] : begins[c + 1]]`, at `places` (M, 2). `near` has room for all points.
    """

    frame: Floats
    size: Ints
    begins: Ints
    order: Ints
    places: Floats
    near: Ints


class Wishes(NamedTuple):
    """Weights of separation, of cohesion per metre, of alignment and of alignment per m/s; distances; a team or -1."""

    separation: float
    pull: float
    alignment: float
    scale: float
    separation_distance: float
    reach: float
    team: int


def cells_of(positions: Floats, reach: float) -> FlockCells | None:
    """Return points (M, 2) by cells of at least `reach`; None where there is no such grid."""
    count = len(positions)
    if not (0.0 < reach < _FAR) or not count:
        return None
    x, y = positions[:, 0], positions[:, 1]
    low, high = (float(x.min()), float(y.min())), (float(x.max()), float(y.max()))
    # What is no number is neither more nor less.
    if not all(-_FAR < place < _FAR for place in (*low, *high)):
        return None
    most = _CELLS_PER_POINT * count + _MIN_CELLS
    # A little larger, so that rounding brings nobody in reach further than one cell away.
    inverse = 1.0 / (max(reach, 1e-6) * (1.0 + 1e-9))
    while ((high[0] - low[0]) * inverse + 1.0) * ((high[1] - low[1]) * inverse + 1.0) > most:
        inverse *= 0.5
    columns, lines = (int((high[axis] - low[axis]) * inverse) + 1 for axis in (0, 1))
    room = (
        np.zeros(columns * lines + 2, np.int64),
        np.empty(count, np.int64),
        np.empty((count, 2)),
        np.empty(count + 1, np.int64),
    )
    cells = FlockCells(np.array([low[0], low[1], inverse]), np.array([columns, lines]), *room)
    sort_points(np.ascontiguousarray(positions), cells)
    return cells


@inlined
def _column(place: float, low: float, inverse: float) -> int:
    return int((place - low) * inverse)


@compiled_step
def sort_points(positions: Floats, cells: FlockCells) -> None:
    """Fill `cells`; points of one cell are in ascending order."""
    low_x, low_y, inverse = cells.frame[0], cells.frame[1], cells.frame[2]
    columns, begins = cells.size[0], cells.begins
    for point in range(len(positions)):
        cell = _column(positions[point, 1], low_y, inverse) * columns + _column(positions[point, 0], low_x, inverse)
        begins[cell + 2] += 1
    for cell in range(len(begins) - 2):
        begins[cell + 2] += begins[cell + 1]
    for point in range(len(positions)):
        cell = _column(positions[point, 1], low_y, inverse) * columns + _column(positions[point, 0], low_x, inverse)
        # begins[c + 1] is where the next point of cell c goes, and at last where cell c + 1 begins.
        place = begins[cell + 1]
        cells.order[place] = point
        cells.places[place, 0], cells.places[place, 1] = positions[point, 0], positions[point, 1]
        begins[cell + 1] += 1


@compiled_step
def flock(
    rows: Rows,
    positions: Floats,
    own_x: Floats,
    own_y: Floats,
    crowd: Flock,
    cells: FlockCells,
    wishes: Wishes,
    out: Floats,
) -> int:
    """Write the weighted sums of the wishes of agents `rows` (N,) to `out` (2, N); return how many see somebody.

    `own_x` and `own_y` are the directions of their headings. Neighbours are added up in ascending order.
    """
    seeing = 0
    for agent in range(len(rows)):
        count = _find_near(rows[agent], positions[agent, 0], positions[agent, 1], crowd, cells, wishes)
        away_x, away_y, toward_x, toward_y, along_x, along_y = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for place in range(count):
            other = cells.near[place]
            x, y = crowd.positions[other, 0] - positions[agent, 0], crowd.positions[other, 1] - positions[agent, 1]
            distance = math.sqrt(x * x + y * y)
            if distance < wishes.separation_distance:
                gap = distance if distance > 1e-9 else 1e-9
                push = wishes.separation_distance / gap - 1.0
                away_x += x / gap * push
                away_y += y / gap * push
            toward_x += x
            toward_y += y
            along_x += crowd.velocities[other, 0]
            along_y += crowd.velocities[other, 1]
        many = max(count, 1)
        change_x, change_y = 0.0, 0.0
        if count > 0:
            seeing += 1
            change_x = along_x / many * wishes.scale - wishes.alignment * own_x[agent]
            change_y = along_y / many * wishes.scale - wishes.alignment * own_y[agent]
        out[0, agent] = wishes.separation * -away_x + wishes.pull * (toward_x / many) + change_x
        out[1, agent] = wishes.separation * -away_y + wishes.pull * (toward_y / many) + change_y
    return seeing


@inlined
def _find_near(row: int, x: float, y: float, crowd: Flock, cells: FlockCells, wishes: Wishes) -> int:
    """Write whom an agent sees to `cells.near`, in ascending order; return how many."""
    low_x, low_y, inverse = cells.frame[0], cells.frame[1], cells.frame[2]
    columns, lines, near = cells.size[0], cells.size[1], cells.near
    # Cells are at least as large as the reach, so from beside the grid the cells at its border are enough.
    column = min(max(_column(x, low_x, inverse), 0), columns - 1)
    line = min(max(_column(y, low_y, inverse), 0), lines - 1)
    count, square = 0, wishes.reach * wishes.reach
    for strip in range(max(line - 1, 0), min(line + 2, lines)):
        begin = cells.begins[strip * columns + max(column - 1, 0)]
        end = cells.begins[strip * columns + min(column + 1, columns - 1) + 1]
        for place in range(begin, end):
            across, along = cells.places[place, 0] - x, cells.places[place, 1] - y
            # Written either way, as nobody can guess whether one in three is near.
            near[count] = cells.order[place]
            count += 1 if across * across + along * along <= square else 0
    if count <= _FEW:
        _insert(near, 1, count)
    else:
        for gap in _GAPS:
            _insert(near, gap, count)
    seen = 0
    for place in range(count):
        other = near[place]
        if crowd.rows[other] != row and (wishes.team < 0 or crowd.teams[other] == wishes.team):
            near[seen] = other
            seen += 1
    return seen


@inlined
def _insert(values: Ints, gap: int, count: int) -> None:
    """Sort each `gap`-th of the first `count` of `values` by insertion: with ever smaller gaps, all (Shell, 1959)."""
    for index in range(gap, count):
        value, place = values[index], index
        while place >= gap and values[place - gap] > value:
            values[place] = values[place - gap]
            place -= gap
        values[place] = value
