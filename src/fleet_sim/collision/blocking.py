"""Swept blocking: how far bodies may move before they touch something. Fast bodies do not tunnel through thin ones.

Each mover goes from its present pose to its next one in a straight line, at a constant rotation rate. Everything
else, other movers included, stays at its present pose, so the result does not depend on the order of rows. Two
movers that approach each other may therefore end a step closer than the skin, by at most what both moved in it;
the next step then stops them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.broad import cross_pairs
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.distances import distances_between, upright_mask
from fleet_sim.spatial.quaternions import slerp
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

Poses: TypeAlias = tuple[Floats, Floats]
# Given pairs (K, 2) of (mover row, obstacle row), poses of the collision shapes of the movers, (K, 3) and (K, 4), and
# of the obstacles, and a distance, return signed distances (K,); anything above the given distance may be infinite.
PosedDistanceSolver: TypeAlias = Callable[[Ints, Poses, Poses, float], Floats]
# Given pairs (K, 2) of rows, return which (K,) may collide.
PairMask: TypeAlias = Callable[[Ints], Bools]

DEFAULT_SKIN = 1e-3
# Tolerance of the contact time, as a distance in metres.
_EXACT = 1e-7
# In metres. A body already in contact may get closer by this much in a step, so that rounding does not hold it.
_CREEP = 1e-9
_MAX_ROUNDS = 200
# First probe of the secant search, in metres: long compared with rounding errors, shorter than any obstacle.
_FIRST_STEP = 1e-4
# A rotating body near another is measured again after it moved this share of its smallest half extent, or
# `_LEAST_STRIDE` of its whole motion if that is longer.
_STRIDE = 0.25
_LEAST_STRIDE = 1e-5
# Where one body stops a rotating one, it may be inside a third whose corner it cut: so often it is stopped earlier.
_MOST_STOPS = 50
# A body that is near another for more measurements than these, moving hundreds of its sizes in a step, gets no farther.
_MOST_STRIDES = 1000


def allowed_fractions(
    shapes: ShapeArrays,
    movers: Rows,
    end_positions: Floats,
    end_orientations: Floats,
    *,
    obstacle_mask: Bools | None = None,
    may_collide: PairMask | None = None,
    skin: float = DEFAULT_SKIN,
    solve: PosedDistanceSolver | None = None,
) -> tuple[Floats, Rows]:
    """Return (fractions, blockers), (M,) each: the fraction of its motion each mover may make, and what stops it.

    `shapes` are all N rows at their present poses; `movers` (M,) rows, each once, go to `end_positions` (M,
    3) and `end_orientations` (M, 4). Rows in `obstacle_mask` (N,), all by default, may block if `may_collide`
    allows the pair; a mover never blocks itself. A mover stops `skin` metres short of contact; one that is
    already nearer may move along or away but not closer. The blocker is the row that stops the mover first (the
    lowest row if several do), or -1 with fraction 1.

    Pure translations are exact, and so are shapes that are round about z and rotate about z. A rotating box is checked
    in strides of a quarter of its smallest half extent and may cut a corner by less than that on its way, but not where
    it stops; at most a thousand of them, after which it is held. Pairs without a closed form (tilted boxes, meshes) are
    measured by `solve`; without it they do not block. Raises InvalidValueError when `skin` is not a finite number >= 0.
    """
    if not (np.isfinite(skin) and skin >= 0.0):
        raise InvalidValueError(f"skin: expected a finite number >= 0 in metres, got {skin!r}")
    fractions, blockers = np.ones(len(movers)), np.full(len(movers), -1, np.int64)
    obstacles = np.arange(len(shapes.kinds)) if obstacle_mask is None else np.flatnonzero(obstacle_mask)
    pairs = _swept_pairs(shapes, movers, end_positions, end_orientations, obstacles, skin, may_collide)
    if not len(pairs):
        return fractions, blockers
    places, others = pairs[:, 0], obstacles[pairs[:, 1]]
    rows = np.stack((movers[places], others), axis=1)
    start, ends = shapes.take(movers[places]), (end_positions[places], end_orientations[places])
    sweep = _Sweep(start, *ends, obstacles=shapes.take(others), rows=rows, solve=solve)
    contacts = _contacts(sweep, skin)
    for _ in range(_MOST_STOPS):
        stopped = _first_of_each(places, contacts.times)
        fractions[places[stopped]] = contacts.times[stopped]
        blockers[places[stopped]] = others[stopped]
        if not _stop_earlier(contacts, sweep, fractions[places]):
            return fractions, blockers
    # Held, as one that is near another for too many strides.
    held = places[contacts.turning]
    fractions[held[blockers[held] >= 0]] = 0.0
    return fractions, blockers


def _first_of_each(places: Rows, times: Floats) -> Rows:
    """Return the index of the earliest contact before time 1 of each place, the first listed among equals."""
    contacts = np.flatnonzero(times < 1.0)
    # lexsort is stable and pairs come sorted: equal times go to the lowest row.
    order = contacts[np.lexsort((times[contacts], places[contacts]))]
    first_mask = np.ones(len(order), bool)
    first_mask[1:] = places[order[1:]] != places[order[:-1]]
    return np.asarray(order[first_mask])


@dataclass(frozen=True)
class _Sweep:
    """K pairs of a moving body and a standing obstacle."""

    start: ShapeArrays
    end_positions: Floats
    end_orientations: Floats
    obstacles: ShapeArrays
    rows: Ints
    solve: PosedDistanceSolver | None

    def take(self, places: Rows) -> _Sweep:
        """Return the pairs at `places`."""
        return _Sweep(
            self.start.take(places),
            self.end_positions[places],
            self.end_orientations[places],
            self.obstacles.take(places),
            self.rows[places],
            self.solve,
        )

    def distances(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each mover at its own time; beyond `reach` they may be infinite."""
        start = self.start
        positions = start.positions + (self.end_positions - start.positions) * times[:, None]
        orientations = start.orientations
        turning = np.flatnonzero((self.end_orientations != orientations).any(axis=1))
        if len(turning):
            orientations = orientations.copy()
            orientations[turning] = slerp(start.orientations[turning], self.end_orientations[turning], times[turning])
        distances, open_mask = distances_between(start.at(positions, orientations), self.obstacles, reach=reach)
        rest = np.flatnonzero(open_mask)
        if len(rest):
            distances[rest] = np.inf
            if self.solve is not None:
                movers = positions[rest], orientations[rest]
                obstacles = self.obstacles.positions[rest], self.obstacles.orientations[rest]
                distances[rest] = self.solve(self.rows[rest], movers, obstacles, reach)
        return distances

    def travels(self) -> Floats:
        """Return the farthest (K,) any point of each mover can move."""
        start, half = self.start, self.start.half_extents
        shift = self.end_positions - start.positions
        length = np.sqrt(shift[:, 0] ** 2 + shift[:, 1] ** 2 + shift[:, 2] ** 2)
        radius = np.sqrt(half[:, 0] ** 2 + half[:, 1] ** 2 + half[:, 2] ** 2)
        # No point moves farther than the centre does plus the rotation angle times the radius of the bounding ball.
        products = start.orientations * self.end_orientations
        same = np.abs(products[:, 0] + products[:, 1] + products[:, 2] + products[:, 3])
        return np.asarray(length + 2.0 * trig.arccos(np.minimum(same, 1.0)) * radius)

    def convex_mask(self) -> Bools:
        """Return which pairs (K,) have a distance that is convex in time."""
        # The signed distance of two convex shapes is a convex function of their relative translation. Rotation does
        # not change a sphere, nor an upright cylinder or capsule that turns about its axis.
        start, obstacle = self.start, self.obstacles
        convex = (start.kinds <= ShapeKind.PLANE) & (obstacle.kinds <= ShapeKind.PLANE)
        still = (start.orientations == self.end_orientations).all(axis=1)
        round_mask = (start.kinds == ShapeKind.CYLINDER) | (start.kinds == ShapeKind.CAPSULE)
        upright = upright_mask(start) & upright_mask(start.at(self.end_positions, self.end_orientations))
        return np.asarray(convex & (still | (start.kinds == ShapeKind.SPHERE) | (round_mask & upright)))


def _swept_pairs(
    shapes: ShapeArrays,
    movers: Rows,
    end_positions: Floats,
    end_orientations: Floats,
    obstacles: Rows,
    skin: float,
    may_collide: PairMask | None,
) -> Ints:
    """Return pairs (index into movers, index into obstacles) that may collide and whose swept boxes overlap, sorted."""
    if not len(movers) or not len(obstacles):
        return np.empty((0, 2), np.int64)
    lower, upper = world_aabbs(*shapes)
    start = shapes.take(movers)
    end_lower, end_upper = world_aabbs(*start.at(end_positions, end_orientations))
    swept_lower, swept_upper = np.minimum(lower[movers], end_lower), np.maximum(upper[movers], end_upper)
    turning = np.flatnonzero((start.orientations != end_orientations).any(axis=1))
    if len(turning):
        # Between its end poses a rotating shape may leave both end boxes, but not the ball around its centre.
        half = start.half_extents[turning]
        ball = np.sqrt(half[:, 0] ** 2 + half[:, 1] ** 2 + half[:, 2] ** 2)[:, None]
        ends = start.positions[turning], end_positions[turning]
        swept_lower[turning] = np.minimum(swept_lower[turning], np.minimum(*ends) - ball)
        swept_upper[turning] = np.maximum(swept_upper[turning], np.maximum(*ends) + ball)
    pairs = cross_pairs(swept_lower, swept_upper, lower[obstacles], upper[obstacles], margin=skin)
    pairs = np.asarray(pairs[movers[pairs[:, 0]] != obstacles[pairs[:, 1]]])
    # Asked last, of the few pairs that are near each other: rules may call user code.
    if len(pairs) and may_collide is not None:
        pairs = pairs[may_collide(np.stack((movers[pairs[:, 0]], obstacles[pairs[:, 1]]), axis=1))]
    return pairs


@dataclass(frozen=True)
class _Contacts:
    """The first contact of each of K pairs."""

    times: Floats
    """1 where there is none."""
    limits: Floats
    """Distances at which contact begins."""
    turning: Rows
    """Pairs whose distance is not convex in time; those in between their strides may be nearer than seen."""
    reach: float


def _contacts(sweep: _Sweep, skin: float) -> _Contacts:
    """Return the first contacts of the pairs."""
    travels = sweep.travels()
    times = np.ones(len(travels))
    # Twice: a pair that is near enough to be searched may also move apart by its travel, and its gaps must stay finite.
    reach = skin + 2.0 * float(travels.max())
    gaps = sweep.distances(np.zeros(len(travels)), reach)
    # Contact begins at the skin, or, for a pair that is already nearer, when it gets any closer.
    limits = np.minimum(skin, gaps - _CREEP)
    # Pairs whose gap is larger than the farthest travel cannot meet in this step.
    near = np.flatnonzero((gaps - limits <= travels) & (travels > 0.0))
    convex_mask = sweep.convex_mask()[near]
    for rows, search in ((near[convex_mask], _convex_times), (near[~convex_mask], _turning_times)):
        if len(rows):
            times[rows] = search(sweep.take(rows), travels[rows], gaps[rows], limits[rows], reach)
    # A pair in contact that may move less than `_EXACT` does not move at all: it would creep closer step by step.
    times[(gaps <= skin) & (times * travels < _EXACT)] = 0.0
    return _Contacts(times, limits, near[~convex_mask], reach)


def _stop_earlier(contacts: _Contacts, sweep: _Sweep, fractions: Floats) -> bool:
    """Give pairs that are too near where their mover (K,) is stopped an earlier contact; return whether any are."""
    ends = fractions[contacts.turning]
    # At its own contact a pair was measured, and at time 1 too.
    unseen = contacts.turning[(ends < contacts.times[contacts.turning]) & (ends > 0.0)]
    if not len(unseen):
        return False
    pairs, ahead = sweep.take(unseen), fractions[unseen]
    near_mask = pairs.distances(ahead, contacts.reach) < contacts.limits[unseen]
    near = np.flatnonzero(near_mask)
    if not len(near):
        return False
    rows = unseen[near]
    contacts.times[rows] = _halved(
        sweep.take(rows),
        np.zeros(len(rows)),
        ahead[near],
        sweep.take(rows).travels(),
        contacts.limits[rows],
        contacts.reach,
    )
    return True


def _convex_times(sweep: _Sweep, travels: Floats, gaps: Floats, limits: Floats, reach: float) -> Floats:
    """Return the first zeros of gaps that are convex in time, by the secant method from the left."""
    # Right of two points a convex function lies above their secant. So the secant's zero never passes the function's
    # first zero, and a secant that does not fall proves that there is no contact.
    times = np.ones(len(travels))
    live = np.arange(len(travels))
    before, before_gap = np.zeros(len(live)), gaps - limits
    # No point travels faster than `travels` per step, so the gap cannot close before this time.
    sure = np.minimum(before_gap / travels, 1.0)
    # The first step is long enough that rounding does not spoil the slope. A pair that touches within it is stopped
    # at `sure`.
    now = np.maximum(sure, np.minimum(_FIRST_STEP / travels, 1.0))
    for round_number in range(_MAX_ROUNDS):
        gap = sweep.take(live).distances(now, reach) - limits[live]
        slopes = (gap - before_gap) / (now - before)
        falling = slopes < 0.0
        following = np.where(falling, now - gap / np.where(falling, slopes, -1.0), np.inf)
        passed = gap < (0.0 if round_number == 0 else -_EXACT)
        touching = passed | ((gap <= _EXACT) & (following < 1.0))
        ended = touching | (following >= 1.0) | (now >= 1.0)
        times[live[ended]] = np.where(passed, np.maximum(before, np.minimum(sure[live], now)), now)[ended]
        times[live[ended & ~touching]] = 1.0
        keep = np.flatnonzero(~ended)
        live, before, before_gap, now = live[keep], now[keep], gap[keep], following[keep]
        if not len(live):
            break
    times[live] = now
    return times


def _turning_times(sweep: _Sweep, travels: Floats, gaps: Floats, limits: Floats, reach: float) -> Floats:
    """Return contact times by conservative advancement, then bisection."""
    # Advancing by the gap can never pass the contact, but slows down near it; a stride of at least `strides` keeps
    # the number of rounds bounded. The first time that is too close brackets the contact for the bisection.
    times = np.ones(len(travels))
    strides = np.maximum(_STRIDE * sweep.start.half_extents.min(axis=1) / travels, _LEAST_STRIDE)
    safe, ahead = np.zeros(len(travels)), np.ones(len(travels))
    hit_mask = np.zeros(len(travels), bool)
    live = np.arange(len(travels))
    gap = gaps - limits
    for _ in range(_MOST_STRIDES):
        if not len(live):
            break
        following = np.minimum(safe[live] + np.maximum(gap / travels[live], strides[live]), 1.0)
        gap = sweep.take(live).distances(following, reach) - limits[live]
        hit = gap < 0.0
        hit_mask[live[hit]] = True
        ahead[live[hit]] = following[hit]
        safe[live[~hit]] = following[~hit]
        keep = np.flatnonzero(~hit & (following < 1.0))
        live, gap = live[keep], gap[keep]
    hits = np.flatnonzero(hit_mask)
    times[live] = safe[live]
    if len(hits):
        times[hits] = _halved(sweep.take(hits), safe[hits], ahead[hits], travels[hits], limits[hits], reach)
    return times


def _halved(sweep: _Sweep, safe: Floats, ahead: Floats, travels: Floats, limits: Floats, reach: float) -> Floats:
    """Return times (K,) of contact between `safe`, which are clear, and `ahead`, which are too near, by bisection."""
    safe, ahead = safe.copy(), ahead.copy()
    live = np.arange(len(safe))
    while len(live := live[(ahead[live] - safe[live]) * travels[live] > _EXACT]):
        middle = 0.5 * (safe[live] + ahead[live])
        clear_mask = sweep.take(live).distances(middle, reach) >= limits[live]
        safe[live[clear_mask]] = middle[clear_mask]
        ahead[live[~clear_mask]] = middle[~clear_mask]
    return safe
