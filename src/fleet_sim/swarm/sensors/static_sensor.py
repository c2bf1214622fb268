"""A reading that never changes."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.sensors.binary_sensor import whole


class StaticSensor(Sensor):
    """Reads `state` for ever: a placeholder for a sensor, or a switch that a configuration sets."""

    def __init__(self, state: int = 0) -> None:
        """`state`: the reading, a whole number of 0 or more."""
        self.state = whole(state, "StaticSensor: state", 0)

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,)."""
        return np.full(len(group), self.state, np.int64)
