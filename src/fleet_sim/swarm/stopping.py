"""Conditions at which a world stops: a number of steps, an expression, or a function of the world."""

from __future__ import annotations

from fleet_sim.settings.expressions import Expression
from fleet_sim.swarm.metrics.nested import spelt_here
from fleet_sim.swarm.swarm_world import SwarmWorld
from fleet_sim.swarm.world_config import StopCondition


class Condition:
    """A condition of one world.

    Expressions know `steps`, `total_steps` (also as `world.total_steps`), `time` in s, `population` (its size), every
    metric by name, and `metrics["name"]` for metrics whose names are not one word.
    """

    def __init__(self, condition: StopCondition | None, world: SwarmWorld) -> None:
        """Raises InvalidValueError for a text that is not an expression."""
        self.given = condition
        """The condition as it was given."""
        text = spelt_here(condition) if isinstance(condition, str) else ""
        self._condition = Expression(text) if text else condition
        self._world = world

    def check(self) -> None:
        """Raise InvalidValueError where an expression uses a name that is not known."""
        if isinstance(self._condition, Expression):
            self._condition.check_names(self._world.contents.values())

    def holds(self) -> bool:
        """Return whether it holds now."""
        condition = self._condition
        if isinstance(condition, Expression):
            return bool(condition.value(self._world.contents.values()))
        if callable(condition):
            return bool(self._world.sim.guard.call("stop_at", condition, self._world))
        return isinstance(condition, int) and self._world.steps >= condition
