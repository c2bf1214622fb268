"""How unevenly the agents are spread."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.metrics.dispersion import nearest_neighbour_distances
from fleet_sim.swarm.parameters import documented


def spacing_evenness(positions: Floats) -> float:
    """Return minus the standard deviation of the distances of `positions` (N, 2) to the nearest other one, in m.

    0 is as even as can be. NaN for a single agent.
    """
    return -float(nearest_neighbour_distances(positions).std()) if len(positions) > 1 else float("nan")


@documented
@dataclass(eq=False, repr=False)
class DistanceSizeRatio(CrowdMetric):
    """How evenly the agents are spread, 0 or less; see `spacing_evenness`."""

    scale: float = setting(1.0, doc="Factor on the value.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.scale * spacing_evenness(crowd.positions)
