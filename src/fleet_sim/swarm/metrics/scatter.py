"""How far the agents are from their middle."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, centred
from fleet_sim.swarm.parameters import documented


def scatter(positions: Floats, radius: float) -> float:
    """Return 1/(R^2 N) sum |x_i - c|^2, with the centroid c of `positions` (N, 2) and the world's `radius` R; no unit.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float((distances * distances).mean() / radius**2)


def mean_distance(positions: Floats) -> float:
    """Return 1/N sum |x_i - c|, with the centroid c of `positions` (N, 2), in m."""
    return float(centred(positions)[1].mean())


@documented
@dataclass(eq=False, repr=False)
class Scatter(CrowdMetric):
    """The mean square distance to the centroid over that of the world's radius; see `scatter`."""

    regularize: bool = setting(
        True, doc="Relative to the world's radius; false: the mean distance in m, see `mean_distance`."
    )

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return scatter(crowd.positions, self.world_radius) if self.regularize else mean_distance(crowd.positions)
