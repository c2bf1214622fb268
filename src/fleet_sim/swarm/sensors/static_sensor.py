"""A reading that never changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.parameters import Configured, documented


@documented
@dataclass(eq=False, repr=False)
class StaticSensor(Configured, Sensor):
    """Reads `state` for ever: a placeholder for a sensor, or a switch that a configuration sets."""

    per_square = ()

    state: int = setting(0, low=0, doc="The reading.")

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,)."""
        return np.full(len(group), self.state, np.int64)
