"""Reciprocal avoidance: velocities at which discs do not meet, each yielding half (ORCA), all rows at once.

After van den Berg, Guy, Lin and Manocha, "Reciprocal n-Body Collision Avoidance" (Robotics Research, 2011). Robots that
cannot move sideways steer a point ahead of their axle, as Snape, van den Berg, Guy and Manocha do in "Smooth and
Collision-Free Navigation for Multiple Robots under Differential-Drive Constraints" (IROS 2010): that point can go any
way, and the disc about it is larger by as much as it lies ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.motion.half_planes import HalfPlanes, nearest_allowed

_TILT, _SLACK = 0.1, 0.5
"""Where somebody is in the way, wishes are turned right by `_TILT` rad: who meets head on, or in a ring, gets past.
In the way is what leaves less than `_SLACK` of the wanted speed free. All turn alike and in good time, since what one
robot changes from step to step disappoints the others, who expect it to go on as it does."""
_STUCK, _ASIDE = 0.3, 1.3
"""Who gets on by less than a share of `_STUCK` of what it wants tries `_ASIDE` rad to the right, else to the left."""


class MovingDiscs(NamedTuple):
    """What avoids and is avoided: `x`, `y`, velocities `vx`, `vy`, `radii`, and who `yields`; all (N,)."""

    x: Floats
    y: Floats
    vx: Floats
    vy: Floats
    radii: Floats
    yields: Bools


class Obstacles(NamedTuple):
    """What stands near: for row `owner[m]`, its nearest point is offset by (`x[m]`, `y[m]`).

    `allowed` (M,) are speeds towards it that are granted in any case; -inf for none.
    """

    owner: Rows
    x: Floats
    y: Floats
    allowed: Floats


def avoiding_velocities(
    discs: MovingDiscs,
    pairs: tuple[Rows, Rows],
    wanted: tuple[Floats, Floats],
    speeds: Floats,
    *,
    horizon: Floats | float,
    dt: float,
    max_neighbours: int = 10,
    obstacles: Obstacles | None = None,
    obstacle_horizon: float | None = None,
    push_apart: bool = True,
) -> tuple[Floats, Floats]:
    """Return velocities (vx, vy), each (N,), near `wanted` and no faster than `speeds` (N,).

    Two that both yield do not touch for `horizon` s if both take what is returned. `pairs` (first, second) are the rows
    that may meet, each pair once, sorted; each row heeds its `max_neighbours` nearest. Who does not yield keeps its
    velocity in the eyes of the others, and gets `wanted` back. `obstacles` are not approached faster than they would be
    touched in `obstacle_horizon` s (None: `horizon`), whatever the neighbours. Discs that overlap part at once; without
    `push_apart` they only come no nearer.
    """
    count = len(discs.x)
    first, second = pairs
    # Sorted pairs give each owner its others in ascending order: so equal distances do not depend on company.
    owner, other = np.concatenate((second, first)), np.concatenate((first, second))
    heeding = np.flatnonzero(discs.yields.take(owner))
    owner, other, ranks = _nearest(discs, owner.take(heeding), other.take(heeding), max_neighbours)
    horizons = np.broadcast_to(np.asarray(horizon, np.float64), (count,))
    soft = _reciprocal(discs, owner, other, horizons.take(owner), dt if push_apart else None)
    if obstacle_horizon is not None:
        horizons = np.full(count, obstacle_horizon)
    wall = _walls(discs, obstacles, horizons) if obstacles is not None else None
    planes = _table(count, owner, ranks, soft, wall, NO_ROWS if obstacles is None else obstacles.owner)
    beset = planes.counts > planes.hard
    x, y = nearest_allowed(planes, *_turned(wanted, np.where(beset, _TILT, 0.0)), speeds)
    stuck = np.flatnonzero(beset & (x * wanted[0] + y * wanted[1] < _STUCK * (wanted[0] ** 2 + wanted[1] ** 2)))
    if len(stuck):
        x[stuck], y[stuck] = _sidestep(planes.take(stuck), (wanted[0][stuck], wanted[1][stuck]), speeds[stuck])
    # Nothing in the way: what is wanted stays what it was, to the bit.
    free_mask = (planes.counts == 0) | ~discs.yields | _is_free(planes, wanted, speeds)
    return np.where(free_mask, wanted[0], x), np.where(free_mask, wanted[1], y)


def _sidestep(planes: HalfPlanes, wanted: tuple[Floats, Floats], speeds: Floats) -> tuple[Floats, Floats]:
    """Return velocities (N,), (N,) to the right of what is wanted, or to the left where that goes much better."""
    ways = []
    for angle in (_ASIDE, -_ASIDE):
        aim = _turned(wanted, np.full(len(speeds), angle))
        x, y = nearest_allowed(planes, *aim, speeds)
        ways.append((x, y, x * aim[0] + y * aim[1]))
    (right_x, right_y, right), (left_x, left_y, left) = ways
    left_mask = left > 2.0 * np.maximum(right, 0.0)
    return np.where(left_mask, left_x, right_x), np.where(left_mask, left_y, right_y)


def _turned(velocities: tuple[Floats, Floats], angles: Floats) -> tuple[Floats, Floats]:
    """Return velocities turned to the right by `angles` (N,)."""
    cosines, sines = np.cos(angles), np.sin(angles)
    x, y = velocities
    return x * cosines + y * sines, y * cosines - x * sines


def nearest_ranks(owner: Rows, distances: Floats, count: int) -> tuple[Rows, Ints]:
    """Return (order, ranks): entries (M,) by owner and then distance, and each one's place among its owner's, from 0.

    Owners are below `count`. Entries with equal distances keep their order.
    """
    order = np.argsort(distances, kind="stable")
    # NumPy sorts 16-bit integers by radix, several times faster.
    keys = owner.take(order)
    order = order.take(np.argsort(keys.astype(np.uint16) if count <= 1 << 16 else keys, kind="stable"))
    numbers = np.bincount(owner, minlength=count)
    begins = np.cumsum(numbers) - numbers
    return order, np.arange(len(owner)) - begins.take(owner.take(order))


def _nearest(discs: MovingDiscs, owner: Rows, other: Rows, limit: int) -> tuple[Rows, Rows, Ints]:
    x, y = discs.x.take(other) - discs.x.take(owner), discs.y.take(other) - discs.y.take(owner)
    order, ranks = nearest_ranks(owner, x * x + y * y, len(discs.x))
    kept = order[ranks < limit]
    return owner.take(kept), other.take(kept), ranks[ranks < limit]


_Edges = tuple[Floats, Floats, Floats, Floats]


def _reciprocal(discs: MovingDiscs, owner: Rows, other: Rows, horizon: Floats, dt: float | None) -> _Edges:
    """Return the edges (x, y, along_x, along_y) of what each owner may do about each other: (M,) each.

    Discs that overlap are to part within `dt`; with None they are taken as small as they need to be not to overlap.
    """
    x, y = discs.x.take(other) - discs.x.take(owner), discs.y.take(other) - discs.y.take(owner)
    vx, vy = discs.vx.take(owner) - discs.vx.take(other), discs.vy.take(owner) - discs.vy.take(other)
    radii = discs.radii.take(owner) + discs.radii.take(other)
    square = x * x + y * y
    touching_mask = square <= radii * radii
    rate = 1.0 / np.where(touching_mask, horizon if dt is None else dt, horizon)
    if dt is None:
        radii = np.minimum(radii, np.sqrt(square) * (1.0 - 1e-9))
        touching_mask &= square == 0.0
    # From the middle of the cone's blunt end to the relative velocity.
    wx, wy = vx - x * rate, vy - y * rate
    size_square = wx * wx + wy * wy
    size = np.sqrt(size_square)
    dot = wx * x + wy * y
    blunt_mask = touching_mask | ((dot < 0.0) & (dot * dot > radii * radii * size_square))
    # Where the two are in the same place with the same velocity, each pair needs some way to part.
    lost_mask = size == 0.0
    safe = np.where(lost_mask, 1.0, size)
    away = np.where(owner < other, -1.0, 1.0)
    unit_x, unit_y = np.where(lost_mask, away, wx / safe), np.where(lost_mask, 0.0, wy / safe)
    push = radii * rate - size
    leg = np.sqrt(np.maximum(square - radii * radii, 0.0))
    left_mask = x * wy - y * wx > 0.0
    safe_square = np.where(square > 0.0, square, 1.0)
    turn = np.where(left_mask, 1.0, -1.0)
    leg_x = turn * (x * leg - turn * y * radii) / safe_square
    leg_y = turn * (turn * x * radii + y * leg) / safe_square
    along = vx * leg_x + vy * leg_y
    along_x, along_y = np.where(blunt_mask, unit_y, leg_x), np.where(blunt_mask, -unit_x, leg_y)
    change_x = np.where(blunt_mask, push * unit_x, along * leg_x - vx)
    change_y = np.where(blunt_mask, push * unit_y, along * leg_y - vy)
    share = np.where(discs.yields.take(other), 0.5, 1.0)
    return (
        discs.vx.take(owner) + share * change_x,
        discs.vy.take(owner) + share * change_y,
        along_x,
        along_y,
    )


def _walls(discs: MovingDiscs, obstacles: Obstacles, horizons: Floats) -> _Edges:
    """Return the edges that keep owners from reaching obstacles within their horizon."""
    size = np.sqrt(obstacles.x * obstacles.x + obstacles.y * obstacles.y)
    safe = np.where(size > 0.0, size, 1.0)
    to_x, to_y = obstacles.x / safe, obstacles.y / safe
    speed = (size - discs.radii.take(obstacles.owner)) / horizons.take(obstacles.owner)
    speed = np.maximum(speed, obstacles.allowed)
    return to_x * speed, to_y * speed, to_y * -1.0, to_x


def _table(count: int, owner: Rows, ranks: Ints, soft: _Edges, wall: _Edges | None, wall_owner: Rows) -> HalfPlanes:
    """Return the edges by row: first the walls', then the neighbours', nearest first."""
    hard = np.bincount(wall_owner, minlength=count)
    counts = hard + np.bincount(owner, minlength=count)
    depth = int(counts.max()) if count else 0
    tables = [np.zeros((depth, count)) for _ in range(4)]
    if wall is not None:
        order, wall_ranks = nearest_ranks(wall_owner, np.zeros(len(wall_owner)), count)
        for table, values in zip(tables, wall, strict=True):
            table[wall_ranks, wall_owner.take(order)] = values.take(order)
    for table, values in zip(tables, soft, strict=True):
        table[ranks + hard.take(owner), owner] = values
    return HalfPlanes(tables[0], tables[1], tables[2], tables[3], counts, hard)


def _is_free(planes: HalfPlanes, wanted: tuple[Floats, Floats], speeds: Floats) -> Bools:
    """Return which rows (N,) may do what they want, with room to spare."""
    sizes = np.sqrt(wanted[0] * wanted[0] + wanted[1] * wanted[1])
    good_mask = sizes <= speeds
    for k in range(len(planes)):
        good_mask &= (planes.excess(k, wanted[0], wanted[1]) <= -_SLACK * sizes) | (k >= planes.counts)
    return np.asarray(good_mask)
