"""A sensor that counts the agents within a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.neighbours import counts, near_in_crowd
from fleet_sim.swarm.parameters import Configured, documented, team_setting, unbounded_setting

_ARC = 24


@documented
@dataclass(eq=False, repr=False)
class NeighboursInRangeSensor(Configured, Sensor):
    """Reads how many other agents have their middle within `distance` m."""

    distance: float = unbounded_setting(1.0, "How far it sees.", unit="m")
    target_team: int | str | None = team_setting("Count agents of this team only")
    show: bool = setting(False, doc="Draw the range.")

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,)."""
        agent, _ = near_in_crowd(group, self.distance, group.world.team_code(self.target_team))
        return counts(agent, len(group))

    def outlines(self, group: Group) -> Floats | None:
        """Return the ranges (N, K, 2); None where they are not to be drawn."""
        if not self.show or not np.isfinite(self.distance):
            return None
        angles = np.linspace(0.0, 2.0 * np.pi, _ARC, endpoint=False)
        ring = self.distance * np.stack(trig.sin_cos(angles)[::-1], axis=1)
        return np.asarray(group.positions[:, None, :] + ring)
