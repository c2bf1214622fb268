"""A world that runs for long needs no more memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.swarm.agents import Controller, Group, Sensor
from fleet_sim.swarm.swarm_state import Metric
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


@pytest.mark.slow
def test_memory_is_flat_over_hundreds_of_steps() -> None:
    assert grown(50, 300) < 40_000


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from test_memory import long_world, resident
world = long_world()
world.evaluate(5_000)
before = resident()
world.evaluate(25_000)
print(world.steps, resident() - before)
"""


def long_world() -> RectangularWorld:
    """A world that runs for long."""
    agent = {"type": "MazeAgent", "agent_radius": 0.1, "controller": Wander, "sensors": [Nearest], "trace_length": 20}
    return RectangularWorld({"spawners": [{"type": "uniform", "n": 5, "agent": agent}], "metrics": [MeanX]})


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_is_flat_over_thirty_thousand_steps() -> None:
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps, growth = map(int, done.stdout.split())
    assert steps == 30_000
    assert growth < 1_500_000
