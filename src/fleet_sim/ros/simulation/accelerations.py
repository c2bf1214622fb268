"""Accelerations of entities, from the velocities of the last two steps; computed only once somebody asks."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.core.world import World

UNKNOWN = "accelerations are 0: they are known from the second step after the first request on"


class Accelerations:
    """Keeps the velocities of the last two steps from the first request on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wanted = False
        # Generations tell whether a row is still the same entity.
        self._before: tuple[Ints, Floats, Floats] | None = None
        self._now: tuple[Ints, Floats, Floats] | None = None

    def note(self) -> None:
        """Keep the velocities at the end of a step."""
        if self._wanted:
            world = self._world
            copies = (world.generation.copy(), world.velocity.copy(), world.angular_velocity.copy())
            self._before, self._now = self._now, copies

    def forget(self) -> None:
        """Begin anew, as after a reset: what came before is no earlier state of what is now."""
        self._before = self._now = None

    def of(self, rows: Rows) -> tuple[Floats, Floats] | None:
        """Return linear and angular accelerations (N, 3) in the world frame, None while they are not known.

        They are those of the last step; 0 for entities that were spawned in it.
        """
        self._wanted = True
        if self._before is None or self._now is None:
            return None
        generations, linear, angular = self._before
        end_generations, end_linear, end_angular = self._now
        known_mask = rows < len(generations)
        known_mask[known_mask] = generations[rows[known_mask]] == end_generations[rows[known_mask]]
        found = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        chosen = rows[known_mask]
        for values, end, begin in ((found[0], end_linear, linear), (found[1], end_angular, angular)):
            values[known_mask] = (end[chosen] - begin[chosen]) / self._world.clock.dt
        return found
