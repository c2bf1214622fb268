"""The names that code written for RobotSwarmSimulator uses of a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.swarm_world import Spawner, SwarmWorld


class NamedWorld(SwarmWorld):
    """A world with the methods that add one thing, whether it is made in code or described."""

    @property
    def meta(self) -> dict[str, Any]:
        """The `metadata` of its configuration."""
        return self.config.metadata

    def getNeighborsWithinDistance(
        self, center: Sequence[float] | Floats, r: float, excluded: SwarmAgent | None = None
    ) -> list[SwarmAgent]:
        """Return the agents of the population but `excluded` whose centers are nearer than `r` m to `center` (2,)."""
        x, y = (self.everyone.positions - as_floats(center, (2,), "center")).T
        near = (trig.hypot(x, y) < as_float(r, "r in m", low=0.0)).nonzero()[0].tolist()
        return [self.population[index] for index in near if self.population[index] is not excluded]

    def add_agent(self, agent: object) -> SwarmAgent:
        """Add an agent to the population: one made in code, settings, or a mapping; returns it. See `spawn`."""
        if not isinstance(agent, SwarmAgent):
            return self.spawn(agent)
        self.population.append(agent)
        return agent

    def add_spawner(self, spawner: object) -> Spawner:
        """Add a spawner, an object or a mapping as in a configuration; returns it.

        Raises InvalidValueError and UnknownNameError.
        """
        made = SPAWNERS.make(spawner, self)
        self.spawners.append(made)
        return made

    def set_seed(self, seed: int) -> int:
        """Draw from another seed from now on, as if the world had had it from the start; returns it."""
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InvalidValueError(f"seed: must be a whole number of at least 0, got {seed!r}")
        self.columns.random.reseed(seed)
        return seed


World = NamedWorld
"""Another name of it."""
