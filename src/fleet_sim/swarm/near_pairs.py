"""Bodies of a swarm that may come to overlap in a step, by pairs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.collision.broad import MIN_AUTO_CELL_SIZE, candidate_pairs

PUSHED = 0.5
"""Margin of the candidate pairs, in largest radii: bodies that near may be pushed into each other."""

FEW = 64
"""Number of bodies up to which all pairs are tested."""

Pairs: TypeAlias = tuple[Rows, Rows]


class Bodies(NamedTuple):
    """Discs that collide: rows, centres (N, 2), radii (N,), and which of them may be pushed (N,)."""

    rows: Rows
    centres: Floats
    radii: Floats
    movable_mask: Bools


def near_pairs(bodies: Bodies, *, compiled: bool = False) -> Pairs:
    """Return the indices of pairs of bodies that may come to overlap in this step, and of which one may move.

    With `compiled`, compiled code finds the same.
    """
    movable = bodies.movable_mask.nonzero()[0]
    # With few bodies a list of all pairs, kept from step to step, is cheaper than sorting boxes.
    if len(bodies.rows) <= FEW:
        if len(movable) == 1:
            # Agents updated in turn move one by one, so this is the common case there.
            return _pairs_with(len(bodies.rows), int(movable[0]))
        first, second = all_pairs(len(bodies.rows))
        if len(movable) == len(bodies.rows):
            return first, second
        wanted_mask = bodies.movable_mask[first] | bodies.movable_mask[second]
        return first[wanted_mask], second[wanted_mask]
    if len(movable) == 1:
        others = np.flatnonzero(np.arange(len(bodies.rows)) != movable[0])
        return np.broadcast_to(movable, others.shape), others
    least, most = float(bodies.radii.min()), float(bodies.radii.max())
    margin = PUSHED * most
    lower, upper = np.zeros((len(bodies.rows), 3)), np.zeros((len(bodies.rows), 3))
    # Flat boxes: all agents are in one plane, so z stays 0 for all.
    for axis in (0, 1):
        np.subtract(bodies.centres[:, axis], bodies.radii, out=lower[:, axis])
        np.add(bodies.centres[:, axis], bodies.radii, out=upper[:, axis])
    static_mask = ~bodies.movable_mask
    # Of bodies of about one size, nobody has to look for the middle one.
    cell = max(4.0 * most, MIN_AUTO_CELL_SIZE) if 0.0 < most <= 2.0 * least else None
    pairs = candidate_pairs(
        lower, upper, margin=margin, static_mask=static_mask, ignore_static=False, cell_size=cell, compiled=compiled
    )
    return pairs[:, 0], pairs[:, 1]


@lru_cache(maxsize=FEW + 1)
def all_pairs(count: int) -> Pairs:
    """Return all pairs of `count` bodies, sorted; the arrays are shared, so they cannot be written."""
    first, second = np.triu_indices(count, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


@lru_cache(maxsize=FEW * FEW)
def _pairs_with(count: int, one: int) -> Pairs:
    """Return the pairs of `count` bodies in which `one` is, as they come in `all_pairs`."""
    first, second = all_pairs(count)
    mask = (first == one) | (second == one)
    first, second = first[mask], second[mask]
    first.flags.writeable = second.flags.writeable = False
    return first, second
