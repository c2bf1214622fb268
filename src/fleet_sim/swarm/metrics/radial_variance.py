"""How unequal the distances to the middle are."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, centred
from fleet_sim.swarm.parameters import documented


def radial_variance(positions: Floats, radius: float = 1.0) -> float:
    """Return 1/(R^2 N) sum (|x_i - c| - m)^2, with the centroid c of `positions` (N, 2) and m the mean of |x_i - c|.

    R is the world's `radius`; with 1 the unit is m^2. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors
    Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float(((distances - distances.mean()) ** 2).mean() / radius**2)


@documented
@dataclass(eq=False, repr=False)
class RadialVariance(CrowdMetric):
    """The variance of the distances to the centroid; see `radial_variance`."""

    regularize: bool = setting(True, doc="Divide by the square of the world's radius; false: in m^2.")
    weight: float = setting(1.0, doc="Factor on the value; RobotSwarmSimulator has 20.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.weight * radial_variance(crowd.positions, self.world_radius if self.regularize else 1.0)
