"""Am I inside that region?"""

from __future__ import annotations

from collections import deque

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.regions import Region
from fleet_sim.swarm.sensors.binary_sensor import whole

_WHAT = "RegionalSensor"


class RegionalSensor(Sensor):
    """Reads 1 while the agent's middle is inside an object of the world, such as a DetectionRegion; 0 otherwise."""

    def __init__(self, world_object_index: int, draw: bool = True, history_length: int = 50) -> None:
        """`world_object_index`: which of the world's objects, from 0. `draw`: draw it. `history_length`: how many
        readings to keep in `history`.
        """
        self.world_object_index = whole(world_object_index, f"{_WHAT}: world_object_index", 0)
        self.show = draw
        self.history: deque[AnyArray] = deque(maxlen=whole(history_length, f"{_WHAT}: history_length", 1))

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,); raises InvalidValueError where the world has no such object."""
        readings = self.inside(group).astype(np.int64)
        self.history.append(readings)
        return readings

    def inside(self, group: Group) -> Bools:
        """Return which agents (N,) are inside."""
        objects = group.world.objects
        if self.world_object_index >= len(objects):
            raise InvalidValueError(
                f"{_WHAT}: world_object_index {self.world_object_index} does not exist; the world has {len(objects)}"
                " objects, which count from 0"
            )
        thing = objects[self.world_object_index]
        outline = thing.outline
        region = Region(center=thing.position, radius=thing.radius) if outline is None else Region(outline)
        return region.contains(group.positions)
