"""How many are near?"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.neighbours import counts, near_in_crowd
from fleet_sim.swarm.sensors.binary_sensor import distance as as_distance

_WHAT = "NeighboursInRangeSensor"
_ARC = 24


class NeighboursInRangeSensor(Sensor):
    """Reads how many other agents have their middle within `distance` m."""

    def __init__(self, distance: float = 1.0, target_team: int | str | None = None, show: bool = False) -> None:
        """`distance`: m. `target_team`: count agents of this team only; None: all. `show`: draw the range."""
        self.distance = as_distance(distance, f"{_WHAT}: distance")
        self.target_team = target_team
        self.show = show

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,)."""
        agent, _ = near_in_crowd(group, self.distance, group.world.team_code(self.target_team))
        return counts(agent, len(group))

    def outlines(self, group: Group) -> Floats | None:
        """Return the ranges (N, K, 2); None where they are not to be drawn."""
        if not self.show or not np.isfinite(self.distance):
            return None
        angles = np.linspace(0.0, 2.0 * np.pi, _ARC, endpoint=False)
        ring = self.distance * np.stack((np.cos(angles), np.sin(angles)), axis=1)
        return np.asarray(group.positions[:, None, :] + ring)
