"""What metrics and conditions read of a world: inner metrics, and values and members by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim.swarm.metric import Metric
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.swarm_state import SwarmState

LISTS = ("population", "objects", "spawners", "metrics", "goals", "subscribers")
"""The lists of a world, as metrics name them."""


class Contents:
    """The contents of one world; `lists` returns the one of a name."""

    def __init__(self, world: SwarmState, lists: Callable[[str], Any]) -> None:
        self._world = world
        self._lists = lists

    def make_metric(self, spec: object) -> Metric:
        """Return a metric of this world that is not in its list: an inner one of another metric.

        Raises InvalidValueError and UnknownNameError.
        """
        made = METRICS.make(spec)
        made.attach_world(self._world)
        return made

    def values(self) -> dict[str, Any]:
        """Return what expressions over the world know: steps, time, population, metrics by name and as `metrics`."""
        world = self._world
        metrics = {metric.name: metric.value for metric in self._lists("metrics")}
        counts = {"steps": world.steps, "total_steps": world.total_steps}
        own = {**counts, "time": world.time, "population": len(world.population), "metrics": metrics}
        return {**metrics, **own}

    def named(self, name: str) -> object | None:
        """Return the agent, object or metric of that name, else the list of the world, or None."""
        for kind in ("population", "objects", "metrics"):
            for member in self._lists(kind):
                if member.name == name:
                    found: object = member
                    return found
        return self._lists(name) if name in LISTS else None
