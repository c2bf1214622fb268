"""A sensor for one point at a fixed offset from the agent: is it inside another agent?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.parameters import documented
from fleet_sim.swarm.sensors.binary_sensor import BinarySensor
from fleet_sim.swarm.sensors.search import Candidates, any_hit


@documented
@dataclass(eq=False, repr=False)
class PointCollisionSensor(BinarySensor):
    """Reads 1 while the point `distance` m away, `bias` rad to the left of the heading, is in another agent's disc."""

    per_square = ("distance", "bias")

    distance: float = setting(100.0, low=0, unit="m", doc="Distance of the point from the agent's centre.")
    bias: float = setting(0.0, unit="rad", doc="Angle of the point to the left of the heading.")
    store_history: bool = setting(False, doc="Keep the last readings in `history`.")
    show: bool = setting(True, doc="Draw the sensor.")
    draw: bool | None = setting(None, doc="Another name of `show`; null: as that says.")

    def points(self, group: Group) -> Floats:
        """Return the points (N, 2) in the world frame."""
        looks = group.headings + self.bias
        return np.asarray(group.positions + np.multiply(self.distance, trig.sin_cos(looks)[::-1]).T)

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) have their point inside another agent."""
        points = self.points(group)
        candidates = Candidates(group, group.world.team_code(self.target_team))

        def covered(agent: Rows, candidate: Rows) -> Bools:
            x = candidates.positions[:, 0].take(candidate) - points[:, 0].take(agent)
            y = candidates.positions[:, 1].take(candidate) - points[:, 1].take(agent)
            radii = candidates.radii.take(candidate)
            return np.asarray(x * x + y * y <= radii * radii)

        # The point of one agent is inside another at most this far from its middle.
        reach = float(candidates.radii.max()) if len(candidates) else 0.0
        return any_hit(points, candidates, reach, covered)

    def outlines(self, group: Group) -> Floats | None:
        """Return lines (N, 2, 2) to the points; None where they are not to be drawn."""
        return np.stack((group.positions, self.points(group)), axis=1) if self.show else None
