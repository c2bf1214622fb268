"""Subscribers: user functions at each step, recorders of pictures and films, writers of tables, plots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleet_sim.settings import setting
from fleet_sim.swarm.parameters import Configured, documented
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.plots import MetricPlot
from fleet_sim.swarm.recorders import GifRecorder, VideoRecorder
from fleet_sim.swarm.swarm_world import Subscriber, SwarmWorld
from fleet_sim.swarm.tables import MetricTable


def read_function(value: object) -> Callable[..., Any]:
    """Return a function; raises ValueError for anything that cannot be called."""
    if not callable(value):
        raise ValueError(f"must be a function of the world, got {value!r}")
    return value


@documented
@dataclass(eq=False, repr=False)
class WorldSubscriber(Configured, Subscriber):
    """Calls `func(world)` after each step, or after every `every`th one."""

    func: Callable[..., Any] = setting(reader=read_function, schema={}, doc="A function of the world.")
    every: int = setting(1, low=1, unit="steps", doc="Steps between two calls.")

    def step(self, world: SwarmWorld) -> None:
        """Call the function where it is due."""
        if world.steps % self.every == 0:
            self.func(world)


BUILT_IN: dict[str, type[Subscriber]] = {
    "WorldSubscriber": WorldSubscriber,
    "World2Gif": GifRecorder,
    "gif": GifRecorder,
    "video": VideoRecorder,
    "table": MetricTable,
    "plot": MetricPlot,
}

SUBSCRIBERS = PartRegistry("subscriber", Subscriber, BUILT_IN)
