"""Reciprocal collision avoidance (ORCA) of discs, all rows at once: each of two discs makes half of the correction.

After van den Berg, Guy, Lin and Manocha, "Reciprocal n-Body Collision Avoidance" (Robotics Research, 2011). Robots that
cannot move sideways steer a point ahead of their axle, as Snape, van den Berg, Guy and Manocha do in "Smooth and
Collision-Free Navigation for Multiple Robots under Differential-Drive Constraints" (IROS 2010): that point can move in
any direction, and the disc around it is larger by its distance from the axle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.spatial import trigonometry as trig

# Velocities nearest to preferred ones within half-planes and a disc: one small linear program per row, vectorised.
# Half-planes are given as arrays (K, N): up to K per row, each a point on its edge and the edge's unit direction. The
# left side is allowed. Each row uses only its own half-planes, so its result does not depend on which other rows are
# computed with it.


# Below this sine of the angle between two edges their intersection is too far away to be computed.
_PARALLEL = 1e-9


@dataclass(frozen=True)
class HalfPlanes:
    """Half-planes of N rows: `x`, `y` points on the edges, `along_x`, `along_y` directions, all (K, N).

    Only the first `counts[n]` of row n are used; the first `hard[n]` of these are never relaxed.
    """

    x: Floats
    y: Floats
    along_x: Floats
    along_y: Floats
    counts: Ints
    hard: Ints

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Rows) -> HalfPlanes:
        """Return the half-planes of `rows`."""
        return HalfPlanes(
            self.x.take(rows, axis=1),
            self.y.take(rows, axis=1),
            self.along_x.take(rows, axis=1),
            self.along_y.take(rows, axis=1),
            self.counts.take(rows),
            self.hard.take(rows),
        )

    def excess(self, k: int, x: Floats, y: Floats) -> Floats:
        """Return how far (N,) points lie outside each row's half-plane `k`; negative inside."""
        return np.asarray(self.along_x[k] * (self.y[k] - y) - self.along_y[k] * (self.x[k] - x))


def nearest_allowed(planes: HalfPlanes, wanted_x: Floats, wanted_y: Floats, radii: Floats) -> tuple[Floats, Floats]:
    """Return for each row the point nearest to (`wanted_x`, `wanted_y`) in its half-planes and the disc of `radii`.

    Where there is none, return the point of the disc with the smallest maximum violation; hard half-planes are kept if
    possible. All are (N,). Follows the incremental linear programs of de Berg et al., "Computational Geometry",
    chapter 4, as van den Berg, Guy, Lin and Manocha use them in "Reciprocal n-Body Collision Avoidance" (2011).
    """
    size = np.sqrt(wanted_x * wanted_x + wanted_y * wanted_y)
    scale = np.where(size > radii, radii, 1.0) / np.where(size > radii, size, 1.0)
    x, y, failed = _optimise(planes, wanted_x, wanted_y, wanted_x * scale, wanted_y * scale, radii, direction=False)
    # Rows without a solution are few; only they go through the second, dearer program.
    stuck = np.flatnonzero(failed < planes.counts)
    if len(stuck):
        x[stuck], y[stuck] = _least_violation(
            planes.take(stuck), failed.take(stuck), x.take(stuck), y.take(stuck), radii.take(stuck)
        )
    return x, y


def _optimise(
    planes: HalfPlanes, aim_x: Floats, aim_y: Floats, x: Floats, y: Floats, radii: Floats, *, direction: bool
) -> tuple[Floats, Floats, Ints]:
    """Return the best points, starting at (x, y), and the half-plane at which each row failed (its count: none).

    A row that fails keeps its last point. With `direction` the aim is a direction to maximise, not a point.
    """
    x, y = x.copy(), y.copy()
    failed = planes.counts.copy()
    # Add one half-plane at a time. While the best point so far satisfies it, nothing changes; otherwise the new best
    # point lies on its edge.
    for k in range(len(planes)):
        bad = np.flatnonzero((planes.excess(k, x, y) > 0.0) & (k < failed))
        if not len(bad):
            continue
        some = planes.take(bad)
        new_x, new_y, good_mask = _on_edge(some, k, aim_x.take(bad), aim_y.take(bad), radii.take(bad), direction)
        good = bad[good_mask]
        x[good], y[good] = new_x[good_mask], new_y[good_mask]
        failed[bad[~good_mask]] = k
    return x, y, failed


def _on_edge(
    planes: HalfPlanes, k: int, aim_x: Floats, aim_y: Floats, radii: Floats, direction: bool
) -> tuple[Floats, Floats, Bools]:
    """Return the best points on the edges of half-plane `k`, inside those before it, and which rows have one."""
    # The edge is point + t * along; the disc and each earlier half-plane cut the interval [low, high] of t.
    x, y, along_x, along_y = planes.x[k], planes.y[k], planes.along_x[k], planes.along_y[k]
    middle = x * along_x + y * along_y
    square = middle * middle + radii * radii - (x * x + y * y)
    good_mask = square >= 0.0
    root = np.sqrt(np.maximum(square, 0.0))
    low, high = -middle - root, root - middle
    if k:
        turn = along_x * planes.along_y[:k] - along_y * planes.along_x[:k]
        side = planes.along_x[:k] * (y - planes.y[:k]) - planes.along_y[:k] * (x - planes.x[:k])
        used_mask = np.arange(k)[:, None] < planes.counts
        parallel_mask = np.abs(turn) <= _PARALLEL
        good_mask &= ~(used_mask & parallel_mask & (side < 0.0)).any(axis=0)
        cut = side / np.where(parallel_mask, 1.0, turn)
        cuts_mask = used_mask & ~parallel_mask
        high = np.minimum(high, np.where(cuts_mask & (turn > 0.0), cut, np.inf).min(axis=0))
        low = np.maximum(low, np.where(cuts_mask & (turn < 0.0), cut, -np.inf).max(axis=0))
        good_mask &= low <= high
    if direction:
        share = np.where(aim_x * along_x + aim_y * along_y > 0.0, high, low)
    else:
        # The foot of the perpendicular from the aim, or the end of the interval that is nearer to it.
        share = np.minimum(np.maximum(along_x * (aim_x - x) + along_y * (aim_y - y), low), high)
    return x + share * along_x, y + share * along_y, good_mask


def _least_violation(planes: HalfPlanes, failed: Ints, x: Floats, y: Floats, radii: Floats) -> tuple[Floats, Floats]:
    """Return the points with the smallest maximum violation of the half-planes that can be relaxed."""
    x, y = x.copy(), y.copy()
    worst = np.zeros(len(x))
    # No row failed before this half-plane, so there is nothing to relax until then.
    for k in range(int(failed.min()), len(planes)):
        bad = np.flatnonzero((k >= failed) & (k < planes.counts) & (planes.excess(k, x, y) > worst))
        if not len(bad):
            continue
        some = planes.take(bad)
        rivals = _rivals(some, k)
        # Into the half-plane, at a right angle to its edge: the farther in, the smaller the violation.
        aim_x, aim_y = -some.along_y[k], some.along_x[k]
        reach = radii.take(bad)
        start = (aim_x * reach, aim_y * reach)
        new_x, new_y, ended = _optimise(rivals, aim_x, aim_y, *start, reach, direction=True)
        # This can fail only by rounding; then the present point is the best one.
        good_mask = ended >= rivals.counts
        good = bad[good_mask]
        x[good], y[good] = new_x[good_mask], new_y[good_mask]
        worst[bad] = some.excess(k, x.take(bad), y.take(bad))
    return x, y


def _rivals(planes: HalfPlanes, k: int) -> HalfPlanes:
    """Return the half-planes where those before `k` are violated less than `k` is; hard ones are unchanged."""
    # The new edge is the bisector of the two edges: it runs through their intersection, or midway if they are parallel.
    along_x, along_y = planes.along_x[:k], planes.along_y[:k]
    one_x, one_y, way_x, way_y = planes.x[k], planes.y[k], planes.along_x[k], planes.along_y[k]
    index = np.arange(k)[:, None]
    hard_mask = index < planes.hard
    turn = way_x * along_y - way_y * along_x
    parallel_mask = np.abs(turn) <= _PARALLEL
    share = (along_x * (one_y - planes.y[:k]) - along_y * (one_x - planes.x[:k])) / np.where(parallel_mask, 1.0, turn)
    x = np.where(parallel_mask, 0.5 * (one_x + planes.x[:k]), one_x + share * way_x)
    y = np.where(parallel_mask, 0.5 * (one_y + planes.y[:k]), one_y + share * way_y)
    new_x, new_y = along_x - way_x, along_y - way_y
    size = np.sqrt(new_x * new_x + new_y * new_y)
    safe = np.where(size > 0.0, size, 1.0)
    # A parallel edge with the same direction adds no constraint: it is replaced by an edge far outside.
    idle_mask = (parallel_mask & (way_x * along_x + way_y * along_y > 0.0)) & ~hard_mask
    x = np.where(hard_mask, planes.x[:k], np.where(idle_mask, 0.0, x))
    y = np.where(hard_mask, planes.y[:k], np.where(idle_mask, -1e9, y))
    out_x = np.where(hard_mask, along_x, np.where(idle_mask, 1.0, new_x / safe))
    out_y = np.where(hard_mask, along_y, np.where(idle_mask, 0.0, new_y / safe))
    return HalfPlanes(x, y, out_x, out_y, np.minimum(planes.counts, k), np.minimum(planes.hard, k))


_TILT, _SLACK = 0.1, 0.1
"""Preferred velocities are rotated right by `_TILT` rad where a neighbour is in the way. This breaks the symmetry of
head-on and circular encounters.
A neighbour is in the way if it leaves less than `_SLACK` of the preferred speed free. All robots turn the same way and
early, since ORCA assumes that neighbours keep their velocity."""
_STUCK, _ASIDE = 0.1, 1.3
"""A robot that would be slower than `_STUCK` of the preferred speed tries `_ASIDE` rad to the right, then to the left.
One that is fast, if not towards its goal, is on its way around something; a sidestep would only lengthen that."""


class MovingDiscs(NamedTuple):
    """Discs that avoid each other: positions `x`, `y`, velocities `vx`, `vy`, `radii`, and which `yields`; all (N,)."""

    x: Floats
    y: Floats
    vx: Floats
    vy: Floats
    radii: Floats
    yields: Bools


class Obstacles(NamedTuple):
    """Standing obstacles: for row `owner[m]`, the nearest point is offset by (`x[m]`, `y[m]`).

    `allowed` (M,) are speeds towards it that are always permitted; -inf for none.
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

    Two discs that both yield do not touch for `horizon` s if both use the returned velocities. `pairs` (first, second)
    are the rows that may meet, each pair once, sorted; each row considers its `max_neighbours` nearest. A disc that
    does not yield is assumed to keep its velocity, and gets `wanted` back. `obstacles` are not approached so fast that
    they would be touched within `obstacle_horizon` s (None: `horizon`); neighbours never override this. Overlapping
    discs separate within `dt`; without `push_apart` they only get no closer.
    """
    count = len(discs.x)
    # Sorted pairs list each owner's neighbours in ascending order: ties in distance do not depend on other rows.
    owner, other = np.concatenate(pairs[::-1]), np.concatenate(pairs)
    # Rows that do not yield need no half-planes: they keep what they want.
    heeding = np.flatnonzero(discs.yields.take(owner))
    owner, other, ranks = _nearest(discs, owner.take(heeding), other.take(heeding), max_neighbours)
    horizons = np.broadcast_to(np.asarray(horizon, np.float64), (count,))
    soft = _reciprocal(discs, owner, other, horizons.take(owner), dt if push_apart else None)
    wall_horizons = horizons if obstacle_horizon is None else np.full(count, obstacle_horizon)
    wall = _walls(discs, obstacles, wall_horizons) if obstacles is not None else None
    planes = _table(count, owner, ranks, soft, wall, NO_ROWS if obstacles is None else obstacles.owner)
    beset = planes.counts > planes.hard
    x, y = nearest_allowed(planes, *_turned(wanted, np.where(beset, _TILT, 0.0)), speeds)
    stuck = np.flatnonzero(beset & (x * x + y * y < _STUCK**2 * (wanted[0] ** 2 + wanted[1] ** 2)))
    if len(stuck):
        x[stuck], y[stuck] = _sidestep(planes.take(stuck), (wanted[0][stuck], wanted[1][stuck]), speeds[stuck])
    # Nothing in the way: the preferred velocity is returned bit for bit.
    free_mask = (planes.counts == 0) | ~discs.yields | _is_free(planes, wanted, speeds)
    return np.where(free_mask, wanted[0], x), np.where(free_mask, wanted[1], y)


def _sidestep(planes: HalfPlanes, wanted: tuple[Floats, Floats], speeds: Floats) -> tuple[Floats, Floats]:
    """Return velocities (N,), (N,) to the right of `wanted`, or to the left where that is more than twice as fast."""
    ways = []
    for angle in (_ASIDE, -_ASIDE):
        aim = _turned(wanted, np.full(len(speeds), angle))
        x, y = nearest_allowed(planes, *aim, speeds)
        ways.append((x, y, x * aim[0] + y * aim[1]))
    (right_x, right_y, right), (left_x, left_y, left) = ways
    # Right is preferred, so that two robots that both step aside do so to different sides.
    left_mask = left > 2.0 * np.maximum(right, 0.0)
    return np.where(left_mask, left_x, right_x), np.where(left_mask, left_y, right_y)


def _turned(velocities: tuple[Floats, Floats], angles: Floats) -> tuple[Floats, Floats]:
    """Return velocities turned to the right by `angles` (N,)."""
    sines, cosines = trig.sin_cos(angles)
    x, y = velocities
    return x * cosines + y * sines, y * cosines - x * sines


def nearest_ranks(owner: Rows, distances: Floats, count: int) -> tuple[Rows, Ints]:
    """Return (order, ranks): entries (M,) by owner, then distance, and the rank of each within its owner, from 0.

    Owners are below `count`. Entries with equal distances keep their order.
    """
    order = np.argsort(distances, kind="stable")
    # NumPy sorts 16-bit integers by radix sort, which is several times faster.
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
    """Return the edges (x, y, along_x, along_y) of the ORCA half-plane of each owner and neighbour: (M,) each.

    Overlapping discs must separate within `dt`; with None their radii are reduced until they do not overlap.
    """
    x, y = discs.x.take(other) - discs.x.take(owner), discs.y.take(other) - discs.y.take(owner)
    vx, vy = discs.vx.take(owner) - discs.vx.take(other), discs.vy.take(owner) - discs.vy.take(other)
    radii = discs.radii.take(owner) + discs.radii.take(other)
    square = x * x + y * y
    touching_mask = square <= radii * radii
    rate = 1.0 / np.where(touching_mask, horizon if dt is None else dt, horizon)
    if dt is None:
        # Shrunk until they just do not touch: then the cone exists, and they only must not come closer.
        radii = np.minimum(radii, np.sqrt(square) * (1.0 - 1e-9))
        touching_mask &= square == 0.0
    # The velocity obstacle is a cone, cut off by a disc about `offset / horizon` with radius `radii / horizon`. `w` is
    # the relative velocity as seen from that disc's centre. The nearest boundary is the disc or one of the two legs.
    wx, wy = vx - x * rate, vy - y * rate
    size_square = wx * wx + wy * wy
    size = np.sqrt(size_square)
    dot = wx * x + wy * y
    blunt_mask = touching_mask | ((dot < 0.0) & (dot * dot > radii * radii * size_square))
    # Both at the same place with the same velocity: choose opposite directions, by row, so that they separate.
    lost_mask = size == 0.0
    safe = np.where(lost_mask, 1.0, size)
    away = np.where(owner < other, -1.0, 1.0)
    unit_x, unit_y = np.where(lost_mask, away, wx / safe), np.where(lost_mask, 0.0, wy / safe)
    push = radii * rate - size
    leg_x, leg_y = _leg(x, y, radii, square, x * wy - y * wx > 0.0)
    along = vx * leg_x + vy * leg_y
    along_x, along_y = np.where(blunt_mask, unit_y, leg_x), np.where(blunt_mask, -unit_x, leg_y)
    change_x = np.where(blunt_mask, push * unit_x, along * leg_x - vx)
    change_y = np.where(blunt_mask, push * unit_y, along * leg_y - vy)
    # Reciprocal: each makes half of the change, all of it if the other does not yield.
    share = np.where(discs.yields.take(other), 0.5, 1.0)
    vx, vy = discs.vx.take(owner) + share * change_x, discs.vy.take(owner) + share * change_y
    return vx, vy, along_x, along_y


def _leg(x: Floats, y: Floats, radii: Floats, square: Floats, left_mask: Bools) -> tuple[Floats, Floats]:
    """Return the directions of the cone's left or right legs: the tangents from the origin to the neighbours' discs.

    The neighbours are at (`x`, `y`), whose length squared is `square`.
    """
    leg = np.sqrt(np.maximum(square - radii * radii, 0.0))
    safe_square = np.where(square > 0.0, square, 1.0)
    turn = np.where(left_mask, 1.0, -1.0)
    leg_x = turn * (x * leg - turn * y * radii) / safe_square
    leg_y = turn * (turn * x * radii + y * leg) / safe_square
    return leg_x, leg_y


def _walls(discs: MovingDiscs, obstacles: Obstacles, horizons: Floats) -> _Edges:
    """Return the edges of the half-planes that keep owners from reaching obstacles within their horizon."""
    size = np.sqrt(obstacles.x * obstacles.x + obstacles.y * obstacles.y)
    safe = np.where(size > 0.0, size, 1.0)
    to_x, to_y = obstacles.x / safe, obstacles.y / safe
    # The room that is left, used up evenly over the horizon; negative where the obstacle is inside the disc.
    speed = (size - discs.radii.take(obstacles.owner)) / horizons.take(obstacles.owner)
    speed = np.maximum(speed, obstacles.allowed)
    return to_x * speed, to_y * speed, to_y * -1.0, to_x


def _table(count: int, owner: Rows, ranks: Ints, soft: _Edges, wall: _Edges | None, wall_owner: Rows) -> HalfPlanes:
    """Return the half-planes by row: first the walls, which are hard, then the neighbours, nearest first."""
    hard = np.bincount(wall_owner, minlength=count)
    counts = hard + np.bincount(owner, minlength=count)
    depth = int(counts.max()) if count else 0
    # One column per row, so that step k of all small programs is one array operation.
    tables = [np.zeros((depth, count)) for _ in range(4)]
    if wall is not None:
        order, wall_ranks = nearest_ranks(wall_owner, np.zeros(len(wall_owner)), count)
        for table, values in zip(tables, wall, strict=True):
            table[wall_ranks, wall_owner.take(order)] = values.take(order)
    for table, values in zip(tables, soft, strict=True):
        table[ranks + hard.take(owner), owner] = values
    return HalfPlanes(tables[0], tables[1], tables[2], tables[3], counts, hard)


def _is_free(planes: HalfPlanes, wanted: tuple[Floats, Floats], speeds: Floats) -> Bools:
    """Return which rows (N,) may keep the wanted velocity, with `_SLACK` to spare."""
    sizes = np.sqrt(wanted[0] * wanted[0] + wanted[1] * wanted[1])
    # Who wants to go as fast as it may is not told apart by rounding.
    good_mask = sizes <= speeds * (1.0 + 1e-9)
    # With room to spare, so that robots begin to turn early; see `_SLACK`.
    for k in range(len(planes)):
        good_mask &= (planes.excess(k, wanted[0], wanted[1]) <= -_SLACK * sizes) | (k >= planes.counts)
    return np.asarray(good_mask)
