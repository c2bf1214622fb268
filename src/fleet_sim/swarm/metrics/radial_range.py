"""How wide the ring is that the agents fill."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, centred
from fleet_sim.swarm.parameters import documented


def radial_range(positions: Floats) -> float:
    """Return max|x_i - c| - min|x_i - c|, with the centroid c of `positions` (N, 2), in m: 0 on a circle."""
    _, distances = centred(positions)
    return float(distances.max() - distances.min())


@documented
@dataclass(eq=False, repr=False)
class RoutRin(CrowdMetric):
    """The width of the ring that the agents fill, in m; see `radial_range`."""

    scale: float = setting(1.0, doc="Factor on the value.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.scale * radial_range(crowd.positions)
