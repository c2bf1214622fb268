"""Fittings: the parts of buildings that move. They stand in walls and in each other without colliding."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.collision_rules import CollisionRule
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.world import World

STATIC = CollisionMode.STATIC.code
TABLES = ("door", "lift")
"""The features whose bodies are fittings."""


def fittings_mask(world: World) -> Bools:
    """Return which rows (N,) are leaves of doors, or parts of lifts."""
    mask: Bools = ~world.alive
    mask &= False
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
