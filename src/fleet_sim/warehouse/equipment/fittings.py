"""Fittings: the parts of buildings that move, what they collide with, and how they move between two ends."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.params import CollisionMode
from fleet_sim.robots.motion.path import next_speeds
from fleet_sim.world.collision_rules import CollisionRule
from fleet_sim.world.columns import FeatureColumns
from fleet_sim.world.world import World

STATIC = CollisionMode.STATIC.code
TABLES = ("door", "lift")
"""The features whose bodies are fittings."""


def fittings_mask(world: World) -> Bools:
    """Return which rows (N,) are leaves of doors, or parts of lifts."""
    mask = np.zeros(len(world.alive), bool)
    for name in TABLES:
        table = world.tables.get(name)
        if isinstance(table, FeatureColumns):
            mask |= table.present
    return mask


class InFrame(CollisionRule):
    """Fittings collide neither with what is static, such as walls, nor with each other."""

    def __init__(self, world: World) -> None:
        self._world = world

    def allows(self, first: Rows, second: Rows) -> Bools | None:
        """Return which pairs of rows (M,), (M,) may collide."""
        fittings = fittings_mask(self._world)
        fixed = fittings | (self._world.collision_mode == STATIC)
        refused: Bools = (fittings[first] & fixed[second]) | (fittings[second] & fixed[first])
        return ~refused


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
