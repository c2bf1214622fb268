"""Queues: who waits where it is, as others are before it on the way to the same goal."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints

OWN_PLACE = -1
"""In place of the row of distances to a goal: the robot stays where it is, or where others push it."""


def queueing(goals: Ints, away: Ints, waited: Ints, most: int) -> Bools:
    """Return which robots (R,) are on their way, but not among the `most` that come first on the way to their goals.

    They come in the order of the steps that they are `away`, less the calls that they have `waited`; so nobody waits
    for ever. Around a goal that all came to at once, those that leave it would find no way out between the others.
    """
    # Who is there gives way, and is before nobody.
    score: Floats = np.where(away > 0, np.asarray(away, np.float64) - waited, np.inf)
    order = np.lexsort((score, goals))
    sorted_goals = goals[order]
    begins = np.flatnonzero(np.concatenate(([True], sorted_goals[1:] != sorted_goals[:-1])))
    places = np.arange(len(goals)) - np.repeat(begins, np.diff(np.append(begins, len(goals))))
    waits_mask = np.zeros(len(goals), bool)
    waits_mask[order] = places >= most
    return np.asarray(waits_mask & (away > 0))
