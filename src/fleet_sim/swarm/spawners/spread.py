"""Spawners that draw positions at random: in a region with holes, in a disc, in a ring."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.regions import Region, rectangle
from fleet_sim.swarm.spawners.agent_spawner import AgentSpawner
from fleet_sim.swarm.swarm_world import SwarmWorld

MOST_DRAWS = 10_000
"""How often a region is drawn from in vain before it counts as having no area."""


class UniformAgentSpawner(AgentSpawner):
    """Draws positions evenly from a polygon `region` without its `holes`, polygons too.

    Without a `region` it is the whole world, as far from the walls as the agent's disc needs.
    """

    def __init__(self, world: SwarmWorld, agent: Any, region: Any = None, holes: Any = None, **settings: Any) -> None:
        super().__init__(world, agent, **settings)
        if region is None:
            inset = np.minimum(self.recipe.config.disc, 0.5 * world.size)
            region = rectangle(inset, world.size - 2.0 * inset)
        self.region = Region(region)
        self.holes = [Region(hole) for hole in holes or ()]

    @property
    def middle(self) -> Floats:
        """The middle of the region's box."""
        lower, upper = self.region.bounds
        return 0.5 * (lower + upper)

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2); raises InvalidValueError where the region has no area."""
        lower, upper = self.region.bounds
        found = np.empty((0, 2))
        for _ in range(MOST_DRAWS):
            drawn = self.rng.uniform(lower, upper, (count - len(found), 2))
            inside_mask = self.region.contains(drawn)
            for hole in self.holes:
                inside_mask &= ~hole.contains(drawn)
            found = np.concatenate((found, drawn[inside_mask]))
            if len(found) == count:
                return found
        raise InvalidValueError("region: it has no area left beside its holes")


class DonutAgentSpawner(AgentSpawner):
    """Draws positions evenly from a ring about `center`, between the radii `inner` and `outer`, in m."""

    def __init__(
        self,
        world: SwarmWorld,
        agent: Any,
        center: Any = (5.0, 5.0),
        inner: float = 4.0,
        outer: float = 6.0,
        **settings: Any,
    ) -> None:
        super().__init__(world, agent, **settings)
        self.center = as_floats(center, (2,), "center")
        self.inner = as_float(inner, "inner in m", low=0.0)
        self.outer = as_float(outer, "outer in m", low=self.inner)

    @property
    def middle(self) -> Floats:
        """The centre of the ring."""
        return self.center

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2)."""
        draws = self.rng.random((count, 2))
        inner, outer = self.inner * self.inner, self.outer * self.outer
        radii = np.sqrt(inner + draws[:, 0] * (outer - inner))
        angles = 2.0 * np.pi * draws[:, 1]
        return self.center + np.stack((radii * np.cos(angles), radii * np.sin(angles)), axis=1)


class UniformCircleAgentSpawner(DonutAgentSpawner):
    """Draws positions evenly from a disc."""

    def __init__(self, world: SwarmWorld, agent: Any, center: Any = None, radius: float = 1.0, **settings: Any) -> None:
        middle = 0.5 * world.size if center is None else center
        super().__init__(world, agent, middle, 0.0, as_float(radius, "radius in m", low=0.0), **settings)
