"""How equipment moves between two ends: it speeds up, goes on, and comes to rest exactly at its goal."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.motion.profile import next_speeds

# Room for rounding.
_SLACK = 1.0 + 1e-9


def approach(
    places: Floats, rates: Floats, goals: Floats, speeds: Floats, accels: Floats, dt: float
) -> tuple[Floats, Floats]:
    """Return places and rates (N,) after `dt` s on the way to `goals` (N,), with at most `speeds` and `accels` (N,).

    The end is reached exactly. What goes the wrong way brakes first.
    """
    left = goals - places
    ways = np.where(left < 0.0, -1.0, 1.0)
    after = ways * next_speeds(ways * rates, np.abs(left), 0.0, speeds, accels, dt)
    gone = 0.5 * (rates + after) * dt
    # It ends in the first step in which it can brake to rest, at most what that step covers from its goal.
    change = accels * dt
    there_mask = (np.abs(rates) <= change * _SLACK) & (np.abs(left) <= np.maximum(np.abs(rates), change) * dt * _SLACK)
    return np.where(there_mask, goals, places + gone), np.where(there_mask, 0.0, after)
