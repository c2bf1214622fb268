"""Subscribers: user functions at each step, recorders of pictures and films, writers of tables, plots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.checks import positive
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.plots import MetricPlot
from fleet_sim.swarm.recorders import GifRecorder, VideoRecorder
from fleet_sim.swarm.swarm_world import Subscriber, SwarmWorld
from fleet_sim.swarm.tables import MetricTable


class WorldSubscriber(Subscriber):
    """Calls `func(world)` after each step, or after every `every`th one."""

    def __init__(self, func: Callable[..., Any], every: int = 1) -> None:
        if not callable(func):
            raise InvalidValueError(f"func: expected a function of the world, got {func!r}")
        self.func = func
        self.every = positive(every, "every")

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
