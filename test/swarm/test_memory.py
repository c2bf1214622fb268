"""A world that runs for long needs no more memory."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

from fleet_sim.arrays import AnyArray, Floats
from fleet_sim.swarm.base import Controller, Metric, Sensor
from fleet_sim.swarm.groups import Group
from fleet_sim.swarm.world import RectangularWorld


class Wander(Controller):
    def act(self, group: Group) -> Floats:
        return group.rng.uniform(-1.0, 1.0, (len(group), 2))


class Nearest(Sensor):
    def sense(self, group: Group) -> AnyArray:
        return np.asarray(group.positions[:, 0])


class MeanX(Metric):
    def calculate(self) -> None:
        assert self.world is not None
        self.set_value(float(self.world.everyone.positions[:, 0].mean()))


def grown(first: int, then: int) -> int:
    """Bytes that a world holds more after `then` further steps than after `first`."""
    agent = {"type": "MazeAgent", "agent_radius": 0.1, "controller": Wander, "sensors": [Nearest], "trace_length": 20}
    world = RectangularWorld(
        {
            "spawners": [{"type": "uniform", "n": 5, "agent": agent}],
            "metrics": [MeanX],
            "subscribers": [lambda world: None],
        }
    )
    # One comes and one goes: names, rows and groups must not pile up either.
    world.subscribers.append(lambda world: (world.spawn(agent), world.population[0].remove()))
    world.evaluate(first)
    tracemalloc.start()
    try:
        world.evaluate(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        world.evaluate(then)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_memory_is_flat_over_hundreds_of_steps() -> None:
    assert grown(50, 300) < 40_000


@pytest.mark.slow
def test_memory_is_flat_over_a_hundred_thousand_steps() -> None:
    assert grown(1000, 100_000) < 60_000
