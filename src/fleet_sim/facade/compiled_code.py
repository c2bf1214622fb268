"""The choice whether a simulation uses compiled code."""

from __future__ import annotations

import logging

from fleet_sim.collision.system import CollisionSystem
from fleet_sim.config.modes import CompiledCodeUse
from fleet_sim.core.world import World
from fleet_sim.errors import MissingDependencyError
from fleet_sim.kernels import check_installed, is_installed

log = logging.getLogger(__name__)

MANY = 100
"""Entities from which on compiled code is loaded: that takes half a second, and gains 0.1 to 0.5 ms a step."""
MANY_RAYS = 100_000
"""Rays in all directions from which on it is loaded too: on arrays so many take as long as loading does."""


class CompiledCode:
    """Switches a world to compiled code, once, between two steps; results are the same before and after."""

    def __init__(self, world: World, collisions: CollisionSystem, use: CompiledCodeUse) -> None:
        """Raises MissingDependencyError where it is to be used always and numba is not installed."""
        self._world, self._collisions = world, collisions
        self._least = {"auto": MANY, "always": 0, "never": None}[use]
        world.may_compile = use != "never"
        if use == "always":
            check_installed()
        elif not is_installed():
            self._least = None
        self._asked = use == "always"
        self._seen = -1
        """The version of the world when it had too few entities."""

    def decide(self) -> None:
        """Switch to compiled code if it is time to; called before each step until then."""
        world = self._world
        if self._least is None or (world.version == self._seen and world.rays_on_arrays < MANY_RAYS):
            return
        if len(world) < self._least and world.rays_on_arrays < MANY_RAYS:
            self._seen = world.version
            return
        try:
            check_installed()
        except MissingDependencyError as error:
            if self._asked:
                raise
            # Numba refuses versions of NumPy that it does not know yet. Nobody asked for it.
            log.warning("steps go on without compiled code: %s", error)
            self._least = None
            return
        self._world.compiled = True
        self._collisions.use_kernels()
