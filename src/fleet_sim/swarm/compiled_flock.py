"""Boids by compiled code: the three wishes of all agents in one pass over the flock, and how they steer by them."""

from __future__ import annotations

import math
from typing import NamedTuple

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.kernels.turns import atan2, heading, sin_cos
from fleet_sim.motion.compiled_rows import quaternion_of
from fleet_sim.swarm.neighbours import PointCells, column_of

_TURN = 2.0 * math.pi
# Of the square of a distance, more than rounding: below, it is worth the root.
_SLACK = 1.000001


class Flock(NamedTuple):
    """Everybody: rows (M,), positions and velocities (M, 2), teams (M,)."""

    rows: Rows
    positions: Floats
    velocities: Floats
    teams: Ints


class Helm(NamedTuple):
    """Speed, least speed in turns, turning speed per rad of bearing, largest turning speed, weight of walls."""

    speed: float
    slowest: float
    turn_gain: float
    max_turn: float
    walls: float


class Wishes(NamedTuple):
    """Weights of separation, of cohesion per metre, of alignment and of alignment per m/s; distances; a team or -1."""

    separation: float
    pull: float
    alignment: float
    scale: float
    separation_distance: float
    reach: float
    team: int


@compiled_step
def flock(
    rows: Rows, own_x: Floats, own_y: Floats, crowd: Flock, cells: PointCells, sums: Floats, wishes: Wishes, out: Floats
) -> int:
    """Write the weighted sums of the wishes of agents `rows` (N,) to `out` (2, N); return how many see somebody.

    The agents are the points of `cells`; `own_x` and `own_y` are the directions of their headings. Neighbours are
    added up in ascending order. `sums` (N, 8) is room for the sums, and as wide as a line of the processor's cache.
    """
    sums[:] = 0.0
    # In turn each one is added to what those near it have found so far: so the sums need no lists of neighbours, and
    # nothing has to be sorted.
    for other in range(len(crowd.rows)):
        if wishes.team < 0 or crowd.teams[other] == wishes.team:
            _add_to_near(other, rows, crowd, cells, sums, wishes)
    seeing = 0
    for place in range(len(rows)):
        agent, count = cells.order[place], sums[place, 6]
        many = max(count, 1.0)
        change_x, change_y = 0.0, 0.0
        if count > 0.0:
            seeing += 1
            change_x = sums[place, 4] / many * wishes.scale - wishes.alignment * own_x[agent]
            change_y = sums[place, 5] / many * wishes.scale - wishes.alignment * own_y[agent]
        out[0, agent] = wishes.separation * -sums[place, 0] + wishes.pull * (sums[place, 2] / many) + change_x
        out[1, agent] = wishes.separation * -sums[place, 1] + wishes.pull * (sums[place, 3] / many) + change_y
    return seeing


@inlined
def _add_to_near(other: int, rows: Rows, crowd: Flock, cells: PointCells, sums: Floats, wishes: Wishes) -> None:
    """Add one of the crowd to the sums of the agents that see it."""
    x, y = crowd.positions[other, 0], crowd.positions[other, 1]
    speed_x, speed_y, row = crowd.velocities[other, 0], crowd.velocities[other, 1], crowd.rows[other]
    close = wishes.separation_distance * wishes.separation_distance * _SLACK
    for index in range(_find_near(x, y, cells, wishes.reach * wishes.reach)):
        place = cells.near[index]
        off_x, off_y = x - cells.places[place, 0], y - cells.places[place, 1]
        square = off_x * off_x + off_y * off_y
        # Only who is in the same place can be the same one.
        if square == 0.0 and rows[cells.order[place]] == row:
            continue
        if square <= close:
            distance = math.sqrt(square)
            if distance < wishes.separation_distance:
                gap = distance if distance > 1e-9 else 1e-9
                push = wishes.separation_distance / gap - 1.0
                sums[place, 0] += off_x / gap * push
                sums[place, 1] += off_y / gap * push
        sums[place, 2] += off_x
        sums[place, 3] += off_y
        sums[place, 4] += speed_x
        sums[place, 5] += speed_y
        sums[place, 6] += 1.0


@inlined
def _find_near(x: float, y: float, cells: PointCells, square: float) -> int:
    """Write to `cells.near` which places are within the root of `square` of a point; return how many."""
    columns, lines, inverse, near = cells.size[0], cells.size[1], cells.frame[2], cells.near
    # Cells are at least as large as the reach, so from beside the grid the cells at its border are enough.
    column = min(max(column_of(x, cells.frame[0], inverse), 0), columns - 1)
    line = min(max(column_of(y, cells.frame[1], inverse), 0), lines - 1)
    count = 0
    for strip in range(max(line - 1, 0), min(line + 2, lines)):
        begin = cells.begins[strip * columns + max(column - 1, 0)]
        end = cells.begins[strip * columns + min(column + 1, columns - 1) + 1]
        for place in range(begin, end):
            across, along = cells.places[place, 0] - x, cells.places[place, 1] - y
            # Written either way, as nobody can guess whether one in three is near.
            near[count] = place
            count += 1 if across * across + along * along <= square else 0
    return count


@compiled_step
def look(rows: Rows, orientation: Floats, headings: Floats, own_x: Floats, own_y: Floats) -> None:
    """Write the headings of `rows` (N,), and their directions."""
    # A loop of its own, without branches, computes several at once; the same holds of `steer`.
    for agent in range(len(rows)):
        headings[agent] = heading(quaternion_of(orientation, rows[agent]))
    for agent in range(len(rows)):
        own_y[agent], own_x[agent] = sin_cos(headings[agent])


@compiled_step
def steer(
    headings: Floats,
    own_x: Floats,
    own_y: Floats,
    found: Floats,
    push_x: Floats,
    push_y: Floats,
    helm: Helm,
    actions: Floats,
) -> bool:
    """Write the actions (N, 2) of agents that see their flock's wishes `found` (2, N) and are pushed by walls.

    As `steered`; returns False where a number is none, or too large, which is for arrays. `found` is used up.
    """
    good = True
    for agent in range(len(headings)):
        wish_x = own_x[agent] + found[0, agent] + helm.walls * push_x[agent]
        wish_y = own_y[agent] + found[1, agent] + helm.walls * push_y[agent]
        length = math.sqrt(wish_x * wish_x + wish_y * wish_y)
        good &= length < math.inf
        scale = helm.speed / (length if length > 1e-12 else 1e-12)
        x, y = wish_x * scale, wish_y * scale
        actions[agent, 0] = math.sqrt(x * x + y * y)
        found[0, agent], found[1, agent] = x, y
    if not good:
        return False
    for agent in range(len(headings)):
        found[0, agent] = atan2(found[1, agent], found[0, agent])
    for agent in range(len(headings)):
        size = actions[agent, 0]
        bearing = _wrapped(found[0, agent] - headings[agent]) if size > 0.0 else 0.0
        turn = helm.turn_gain * bearing
        turn = turn if turn > -helm.max_turn else -helm.max_turn
        _, cosine = sin_cos(bearing)
        speed = size * cosine
        speed = min(speed if speed > 0.0 else 0.0, helm.speed)
        actions[agent, 0] = speed if speed > helm.slowest else helm.slowest
        actions[agent, 1] = turn if turn < helm.max_turn else helm.max_turn
    return True


@inlined
def _wrapped(angle: float) -> float:
    """Return what `quaternions.wrapped` does for an angle within two turns: what is added and taken is exact."""
    angle += math.pi
    if angle >= _TURN:
        angle -= _TURN
    elif angle < 0.0:
        angle += _TURN
    return angle - math.pi
