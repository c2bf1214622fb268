"""A sensor for being inside a region."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.parameters import Configured, documented
from fleet_sim.swarm.regions import Region

_WHAT = "RegionalSensor"


@documented
@dataclass(eq=False, repr=False)
class RegionalSensor(Configured, Sensor):
    """Reads 1 while the agent's middle is inside an object of the world, such as a DetectionRegion; 0 otherwise."""

    follows = ("show", "history")

    world_object_index: int = setting(low=0, doc="Index of the world's object, from 0.")
    draw: bool = setting(True, doc="Draw the sensor.")
    history_length: int = setting(50, low=1, high=10**9, doc="Number of readings to keep in `history`.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.show = self.draw
        self.history: deque[AnyArray] = deque(maxlen=self.history_length)

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
        # Looked at anew in each step: objects may move, and the list may change.
        thing = objects[self.world_object_index]
        outline = thing.outline
        region = Region(center=thing.position, radius=thing.radius) if outline is None else Region(outline)
        return region.contains(group.positions)
