"""SpeedMetric: the base of metrics that look at velocities."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.parameters import choice_setting, documented


@documented
@dataclass(eq=False, repr=False)
class SpeedMetric(CrowdMetric):
    """Base of metrics of how agents move. Override `measure`, and take `velocities` for it."""

    per: str = choice_setting(
        "second", ("second", "step"), "The unit of speed: metres per second, or metres per step of the world."
    )

    def velocities(self, crowd: Crowd) -> Floats:
        """Return the velocities (N, 2) of `crowd`, in m/s, or in m per step."""
        return crowd.velocities if self.per == "second" else crowd.velocities * self.watched.dt
