"""Velocities nearest to preferred ones within half-planes and a disc: one small linear program per row, vectorised.

Half-planes are given as arrays (K, N): up to K per row, each a point on its edge and the edge's unit direction. The
left side is allowed.
Each row uses only its own half-planes, so its result does not depend on which other rows are computed with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows

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
    planes: HalfPlanes,
    aim_x: Floats,
    aim_y: Floats,
    x: Floats,
    y: Floats,
    radii: Floats,
    *,
    direction: bool,
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
