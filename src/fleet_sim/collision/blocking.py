"""Swept blocking: how far bodies may move before they touch something. Fast bodies do not tunnel through thin ones.

Each mover goes from its present pose to its next one in a straight line, at a constant rotation rate. First it is
stopped at whatever stands at its present pose, other movers included; then movers that would meet each other on their
way are stopped where they meet. All move at once, so the result does not depend on the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.bounds import world_aabbs
from fleet_sim.collision.broad import candidate_pairs, cross_pairs
from fleet_sim.collision.first_contacts import FirstContacts, first_contacts, stop_earlier
from fleet_sim.collision.meetings import Meetings, shorten
from fleet_sim.collision.sweep import Measure, Motion, PosedDistanceSolver, Sweep
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial.shapes import ShapeArrays

# Given pairs (K, 2) of rows, return which (K,) may collide.
PairMask: TypeAlias = Callable[[Ints], Bools]

DEFAULT_SKIN = 1e-3
# Where one body stops a rotating one, it may be inside a third whose corner it cut: so often it is stopped earlier.
_MOST_STOPS = 50


def allowed_fractions(
    shapes: ShapeArrays,
    movers: Rows,
    end_positions: Floats,
    end_orientations: Floats,
    *,
    obstacle_mask: Bools | None = None,
    may_collide: PairMask | None = None,
    whole_mask: Bools | None = None,
    groups: Ints | None = None,
    skin: float = DEFAULT_SKIN,
    solve: PosedDistanceSolver | None = None,
    compiled: bool = False,
) -> tuple[Floats, Rows]:
    """Return (fractions, blockers), (M,) each: the fraction of its motion each mover may make, and what stops it.

    `shapes` are all N rows at their present poses; `movers` (M,) rows, each once, go to `end_positions` (M,
    3) and `end_orientations` (M, 4). Rows in `obstacle_mask` (N,), all by default, may block if `may_collide`
    allows the pair; a mover never blocks itself. A mover stops `skin` metres short of contact; one that is
    already nearer may move along or away but not closer. The blocker is the row that stops the mover first (the
    lowest row if several do), or -1 with fraction 1. Movers in `whole_mask` (M,) make all of their motion or none, and
    those of one number in `groups` (M,) all stop where the first of them does: they are a robot and its load.

    Pure translations are exact, and so are shapes that are round about z and rotate about z. A rotating box is checked
    in strides of a quarter of its smallest half extent and may cut a corner by less than that on its way, but not where
    it stops; at most a thousand of them, after which it is held. Pairs without a closed form (tilted boxes, meshes) are
    measured by `solve`; without it they do not block. `compiled` code gives the same bits. Raises InvalidValueError
    when `skin` is not a finite number >= 0.
    """
    if not (np.isfinite(skin) and skin >= 0.0):
        raise InvalidValueError(f"skin: expected a finite number >= 0 in metres, got {skin!r}")
    fractions, blockers = np.ones(len(movers)), np.full(len(movers), -1, np.int64)
    if not len(movers):
        return fractions, blockers
    obstacle_mask = np.ones(len(shapes.kinds), bool) if obstacle_mask is None else obstacle_mask
    motion = Motion.between(shapes.take(movers), end_positions, end_orientations)
    measure = Measure(solve, compiled)
    boxes = world_aabbs(*shapes, compiled=compiled)
    swept = _swept_boxes(motion, boxes[0][movers], boxes[1][movers], compiled)
    obstacles = np.flatnonzero(obstacle_mask)
    places, rows = _standing_pairs(swept, boxes, movers, obstacles, skin, may_collide, compiled)
    sweep = Sweep(*motion.columns(places), shapes.take(rows[:, 1]), rows, measure)
    both = _moving_pairs(swept, movers, obstacle_mask, skin, may_collide, compiled)
    until = np.ones(both.shape)
    meetings = Meetings(motion.take(both[:, 0]), motion.take(both[:, 1]), until, movers[both], measure)
    contacts = first_contacts(sweep, skin) if len(rows) else None
    for _ in range(_MOST_STOPS):
        if contacts is not None:
            _find_stops(contacts, sweep, places, fractions, blockers)
        if whole_mask is not None:
            fractions[whole_mask & (fractions < 1.0)] = 0.0
        _stop_together(groups, fractions, blockers)
        if not shorten(meetings.ending(fractions[both]), both, skin, fractions, blockers, whole_mask):
            return fractions, blockers
        # Others may have counted on who is stopped now with the rest of its group.
        more = _stop_together(groups, fractions, blockers)
        if (contacts is None or not stop_earlier(contacts, sweep, fractions[places])) and not more:
            return fractions, blockers
    # Held, as those that are near another for too many strides.
    fractions[blockers >= 0] = 0.0
    _stop_together(groups, fractions, blockers)
    return fractions, blockers


def _stop_together(groups: Ints | None, fractions: Floats, blockers: Rows) -> bool:
    """Stop all of a group where the first of it is stopped, and by what stops that; return whether any was."""
    if groups is None:
        return False
    order = np.lexsort((fractions, groups))
    first_mask = np.ones(len(order), bool)
    first_mask[1:] = groups[order[1:]] != groups[order[:-1]]
    leaders = order[first_mask][np.searchsorted(groups[order[first_mask]], groups)]
    late = np.flatnonzero(fractions > fractions[leaders])
    fractions[late], blockers[late] = fractions[leaders[late]], blockers[leaders[late]]
    return len(late) > 0


def _find_stops(contacts: FirstContacts, sweep: Sweep, places: Rows, fractions: Floats, blockers: Rows) -> None:
    """Write where the movers of a sweep stop, and at what; `places` (P,) are those of its pairs in the results."""
    others = sweep.rows[:, 1]
    for _ in range(_MOST_STOPS):
        stopped = _first_of_each(places, contacts.times)
        stopped = stopped[contacts.times[stopped] < fractions[places[stopped]]]
        fractions[places[stopped]] = contacts.times[stopped]
        blockers[places[stopped]] = others[stopped]
        if not stop_earlier(contacts, sweep, fractions[places]):
            return
    # Held, as one that is near another for too many strides.
    held = places[contacts.turning]
    fractions[held[blockers[held] >= 0]] = 0.0


def _first_of_each(places: Rows, times: Floats) -> Rows:
    """Return the index of the earliest contact before time 1 of each place, the first listed among equals."""
    contacts = np.flatnonzero(times < 1.0)
    # lexsort is stable and pairs come sorted: equal times go to the lowest row.
    order = contacts[np.lexsort((times[contacts], places[contacts]))]
    first_mask = np.ones(len(order), bool)
    first_mask[1:] = places[order[1:]] != places[order[:-1]]
    return np.asarray(order[first_mask])


def _swept_boxes(motion: Motion, lower: Floats, upper: Floats, compiled: bool) -> tuple[Floats, Floats]:
    """Return corners of boxes around all that moving bodies pass; `lower` and `upper` (M, 3) are where they begin."""
    start = motion.start
    ends = start.at(motion.end_positions, motion.end_orientations)
    end_lower, end_upper = world_aabbs(*ends, compiled=compiled)
    swept_lower, swept_upper = np.minimum(lower, end_lower), np.maximum(upper, end_upper)
    turning = np.flatnonzero(motion.turns)
    if len(turning):
        # Between its end poses a rotating shape may leave both end boxes, but not the ball around its centre.
        half = start.half_extents[turning]
        ball = np.sqrt(half[:, 0] ** 2 + half[:, 1] ** 2 + half[:, 2] ** 2)[:, None]
        both = start.positions[turning], motion.end_positions[turning]
        swept_lower[turning] = np.minimum(swept_lower[turning], np.minimum(*both) - ball)
        swept_upper[turning] = np.maximum(swept_upper[turning], np.maximum(*both) + ball)
    return swept_lower, swept_upper


def _standing_pairs(
    swept: tuple[Floats, Floats],
    boxes: tuple[Floats, Floats],
    movers: Rows,
    obstacles: Rows,
    skin: float,
    may_collide: PairMask | None,
    compiled: bool,
) -> tuple[Rows, Ints]:
    """Return which movers (P,), by place, pass near which rows (P, 2), their own first, and may collide; sorted."""
    pairs = cross_pairs(*swept, boxes[0][obstacles], boxes[1][obstacles], margin=skin, compiled=compiled)
    rows = np.stack((movers[pairs[:, 0]], obstacles[pairs[:, 1]]), axis=1)
    others = np.flatnonzero(rows[:, 0] != rows[:, 1])
    places, rows = pairs[others, 0], rows[others]
    # Asked last, of the few pairs that are near each other: rules may call user code.
    if len(rows) and may_collide is not None:
        allowed = np.flatnonzero(may_collide(rows))
        places, rows = places[allowed], rows[allowed]
    return places, rows


def _moving_pairs(
    swept: tuple[Floats, Floats],
    movers: Rows,
    obstacle_mask: Bools,
    skin: float,
    may_collide: PairMask | None,
    compiled: bool,
) -> Ints:
    """Return the pairs (K, 2) of movers, by place, that pass near each other and may collide."""
    pairs = candidate_pairs(*swept, margin=skin, active_mask=obstacle_mask[movers], compiled=compiled)
    if len(pairs) and may_collide is not None:
        pairs = pairs[may_collide(movers[pairs])]
    return pairs
