"""When a moving body first touches a standing one: exact for convex distances, in strides for turning boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.collision.advancement import CREEP, EXACT, advanced, halved
from fleet_sim.collision.sweep import Sweep

_MAX_ROUNDS = 200
# First probe of the secant search, in metres: long compared with rounding errors, shorter than any obstacle.
_FIRST_STEP = 1e-4


@dataclass(frozen=True)
class FirstContacts:
    """The first contact of each of K pairs."""

    times: Floats
    """1 where there is none."""
    limits: Floats
    """Distances at which contact begins."""
    turning: Rows
    """Pairs whose distance is not convex in time; those in between their strides may be nearer than seen."""
    reach: float


def first_contacts(sweep: Sweep, skin: float) -> FirstContacts:
    """Return the first contacts of the pairs."""
    travels = sweep.travels
    times = np.ones(len(travels))
    # Twice: a pair that is near enough to be searched may also move apart by its travel, and its gaps must stay finite.
    reach = skin + 2.0 * float(travels.max())
    gaps = sweep.distances(np.zeros(len(travels)), reach)
    # Contact begins at the skin, or, for a pair that is already nearer, when it gets any closer.
    limits = np.minimum(skin, gaps - CREEP)
    # Pairs whose gap is larger than the farthest travel cannot meet in this step.
    near = np.flatnonzero((gaps - limits <= travels) & (travels > 0.0))
    convex_mask = sweep.convex_mask()[near]
    for rows, search in ((near[convex_mask], _convex_times), (near[~convex_mask], _turning_times)):
        if len(rows):
            times[rows] = search(sweep.take(rows), travels[rows], gaps[rows], limits[rows], reach)
    # A pair in contact that may move less than `EXACT` does not move at all: it would creep closer step by step.
    times[(gaps <= skin) & (times * travels < EXACT)] = 0.0
    return FirstContacts(times, limits, near[~convex_mask], reach)


def stop_earlier(contacts: FirstContacts, sweep: Sweep, fractions: Floats) -> bool:
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
    contacts.times[rows] = halved(
        sweep.take(rows),
        np.zeros(len(rows)),
        ahead[near],
        sweep.travels[rows],
        contacts.limits[rows],
        contacts.reach,
    )
    return True


def _convex_times(sweep: Sweep, travels: Floats, gaps: Floats, limits: Floats, reach: float) -> Floats:
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
        passed = gap < (0.0 if round_number == 0 else -EXACT)
        touching = passed | ((gap <= EXACT) & (following < 1.0))
        ended = touching | (following >= 1.0) | (now >= 1.0)
        times[live[ended]] = np.where(passed, np.maximum(before, np.minimum(sure[live], now)), now)[ended]
        times[live[ended & ~touching]] = 1.0
        keep = np.flatnonzero(~ended)
        live, before, before_gap, now = live[keep], now[keep], gap[keep], following[keep]
        if not len(live):
            break
    times[live] = now
    return times


def _turning_times(sweep: Sweep, travels: Floats, gaps: Floats, limits: Floats, reach: float) -> Floats:
    """Return contact times by conservative advancement, then bisection."""
    sizes = sweep.start.half_extents.min(axis=1)
    return advanced(sweep, travels, gaps - limits, limits, sizes, np.ones(len(travels)), reach)
