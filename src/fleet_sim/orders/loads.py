"""Loads: boxes that robots carry, and that stay at stations for a while."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.entities.spawning import remove, spawn_many
from fleet_sim.errors import UnknownNameError
from fleet_sim.geometry import Pose
from fleet_sim.orders.places import Spot
from fleet_sim.orders.settings import LoadSettings
from fleet_sim.orders.turns import Timers

NO_LOAD = -1
TAKEN_AWAY = "taken_away"


class Loads:
    """Makes, hands over and removes boxes. A box is named by its `object_id`, as rows are used again."""

    def __init__(self, world: World, settings: LoadSettings, timers: Timers) -> None:
        self._world = world
        self._settings = settings
        self._timers = timers

    def lift(self, robot: int, top: float, name: str, mass: float) -> int:
        """Put a new box of `mass` kg on the robot in row `robot`, `top` m above its base; returns its id."""
        world, height = self._world, self._settings.size[2]
        carrier = world.handles[robot]
        place = carrier.get_pose() * Pose((0.0, 0.0, top + 0.5 * height))
        position, orientation = (np.array([part]) for part in place.as_position_orientation())
        # A name of the user's own may be the same; the box then goes without one.
        label = f"load_{name}"
        names = [None if world.index.has_name(label) else label]
        (box,) = spawn_many(world, SimObject, self._params(mass), position, orientation, names)
        carrier.attach_object(box, keep_world_pose=True)
        load: int = box.object_id
        return load

    def put_down(self, load: int, point: Spot) -> None:
        """Put a box on the floor at `point` in m, from where it is taken away later; a box that is gone is none."""
        row = self.row(load)
        if row == NO_ROW:
            return
        world, box = self._world, self._world.handles[row]
        holder = int(world.parent[row])
        floor = point[2] if len(point) == 3 else 0.0
        # Somebody may have taken it off the robot: then it stays where it is.
        if holder != NO_ROW:
            world.handles[holder].detach_object(box, drop_pose=Pose((*point[:2], floor + 0.5 * self._settings.size[2])))
        self._timers.add(world.clock.tick + world.clock.ticks(self._settings.remain), TAKEN_AWAY, load)

    def take_away(self, load: int) -> None:
        """Remove a box, unless somebody has picked it up or removed it."""
        row = self.row(load)
        if row != NO_ROW and self._world.parent[row] == NO_ROW:
            remove(self._world, np.array([row]))

    def carried_by(self, load: int) -> int:
        """Return the row of the robot that carries a box; NO_ROW if none does."""
        row = self.row(load)
        return NO_ROW if row == NO_ROW else int(self._world.parent[row])

    def row(self, load: int) -> int:
        """Return the row of a box; NO_ROW if it is gone."""
        try:
            return NO_ROW if load == NO_LOAD else self._world.index.row_of(load)
        except UnknownNameError:
            return NO_ROW

    def _params(self, mass: float) -> SimObjectSpawnParams:
        length, width, height = self._settings.size
        shape = ShapeParams(
            "box", half_extents=(0.5 * length, 0.5 * width, 0.5 * height), rgba_color=self._settings.color
        )
        collides = self._settings.collides
        given: dict[str, Any] = {} if collides else {"collision_mode": CollisionMode.DISABLED}
        return SimObjectSpawnParams(visual_shape=shape, collision_shape=shape if collides else None, mass=mass, **given)
