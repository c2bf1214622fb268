"""The mean speed of the agents."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.speed_metric import SpeedMetric


def average_speed(velocities: Floats) -> float:
    """Return 1/N sum |v_i| of `velocities` (N, 2), in m/s.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    return float(trig.hypot(velocities[:, 0], velocities[:, 1]).mean())


class AverageSpeed(SpeedMetric):
    """The mean speed, in m/s; see `average_speed`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return average_speed(self.velocities(crowd))
