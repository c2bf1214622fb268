"""How much the swarm turns about its middle, weighted by the distances to it."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import centred
from fleet_sim.swarm.metrics.speed_metric import SpeedMetric


def angular_momentum(positions: Floats, velocities: Floats, radius: float) -> float:
    """Return 1/(R N) sum v_i x (x_i - c), with the centroid c of `positions` (N, 2) and the world's `radius` R.

    The product of plane vectors is v_x d_y - v_y d_x, so turning clockwise is positive. Unit m/s. Brown et al.,
    "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    offsets, _ = centred(positions)
    products = velocities[:, 0] * offsets[:, 1] - velocities[:, 1] * offsets[:, 0]
    return float(products.mean() / radius)


class AngularMomentum(SpeedMetric):
    """The angular momentum about the centroid per agent and world radius; see `angular_momentum`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return angular_momentum(crowd.positions, self.velocities(crowd), self.world_radius)
