"""Conservative advancement: bodies move on by what is surely clear, until they are too near or at the end."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from fleet_sim.arrays import Floats, Rows

# Tolerance of the contact time, as a distance in metres.
EXACT = 1e-7
# In metres. A body already in contact may get closer by this much in a step, so that rounding does not hold it.
CREEP = 1e-9
# Bodies near each other are measured again after one moved this share of the smallest half extent, or `_LEAST_STRIDE`
# of the whole motion if that is longer.
_STRIDE = 0.25
_LEAST_STRIDE = 1e-5
# Bodies that are near each other for more measurements than these, moving hundreds of their sizes in a step, get no
# farther.
_MOST_STRIDES = 1000

A = TypeVar("A", bound="MovingPairs")


class MovingPairs(Protocol):
    """Pairs of bodies whose distances at any time can be measured."""

    def take(self: A, places: Rows) -> A:
        """Return the pairs at `places`."""

    def distances(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each pair at its own time; beyond `reach` they may be infinite."""


def advanced(
    pairs: MovingPairs, travels: Floats, gap: Floats, limits: Floats, sizes: Floats, ends: Floats, reach: float
) -> Floats:
    """Return the last times (K,) before pairs are nearer than their `limits`, 1 where they are not until `ends`.

    `gap` is what is between them and their limits now, and `travels` the most by which it can close until time 1;
    `sizes` are the smallest half extents of bodies that must not be passed through.
    """
    # Advancing by the gap can never pass the contact, but slows down near it; a stride of at least `strides` keeps
    # the number of rounds bounded. The first time that is too close brackets the contact for the bisection.
    times = np.ones(len(travels))
    strides = np.maximum(_STRIDE * sizes / travels, _LEAST_STRIDE)
    safe, ahead = np.zeros(len(travels)), np.ones(len(travels))
    hit_mask = np.zeros(len(travels), bool)
    live = np.arange(len(travels))
    for _ in range(_MOST_STRIDES):
        if not len(live):
            break
        following = np.minimum(safe[live] + np.maximum(gap / travels[live], strides[live]), ends[live])
        gap = pairs.take(live).distances(following, reach) - limits[live]
        hit = gap < 0.0
        hit_mask[live[hit]] = True
        ahead[live[hit]] = following[hit]
        safe[live[~hit]] = following[~hit]
        keep = np.flatnonzero(~hit & (following < ends[live]))
        live, gap = live[keep], gap[keep]
    hits = np.flatnonzero(hit_mask)
    times[live] = safe[live]
    if len(hits):
        times[hits] = halved(pairs.take(hits), safe[hits], ahead[hits], travels[hits], limits[hits], reach)
    return times


def halved(pairs: MovingPairs, safe: Floats, ahead: Floats, travels: Floats, limits: Floats, reach: float) -> Floats:
    """Return times (K,) of contact between `safe`, which are clear, and `ahead`, which are too near, by bisection."""
    safe, ahead = safe.copy(), ahead.copy()
    live = np.arange(len(safe))
    while len(live := live[(ahead[live] - safe[live]) * travels[live] > EXACT]):
        middle = 0.5 * (safe[live] + ahead[live])
        clear_mask = pairs.take(live).distances(middle, reach) >= limits[live]
        safe[live[clear_mask]] = middle[clear_mask]
        ahead[live[~clear_mask]] = middle[~clear_mask]
    return safe
