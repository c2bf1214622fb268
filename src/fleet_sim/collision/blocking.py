"""Swept blocking: how far bodies may move before they touch something. Fast bodies do not tunnel through thin ones.

Each mover goes from its present pose to its next one in a straight line, at a constant rotation rate. Everything
else, other movers included, stays at its present pose, so the result does not depend on the order of rows. Two
movers that approach each other may therefore end a step closer than the skin, by at most what both moved in it;
the next step then stops them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.broad import cross_pairs
from fleet_sim.collision.first_contacts import first_contacts, stop_earlier
from fleet_sim.collision.sweep import PosedDistanceSolver, Sweep
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial.aabbs import world_aabbs
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
    sweep = Sweep(start, *ends, obstacles=shapes.take(others), rows=rows, solve=solve)
    _find_stops(sweep, skin, places, fractions, blockers)
    return fractions, blockers


def _find_stops(sweep: Sweep, skin: float, places: Rows, fractions: Floats, blockers: Rows) -> None:
    """Write where the movers of a sweep stop, and at what; `places` (P,) are those of its pairs in the results."""
    contacts, others = first_contacts(sweep, skin), sweep.rows[:, 1]
    for _ in range(_MOST_STOPS):
        stopped = _first_of_each(places, contacts.times)
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
