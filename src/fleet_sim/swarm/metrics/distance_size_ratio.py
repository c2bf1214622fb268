"""How unevenly the agents are spread."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import ScaledMetric
from fleet_sim.swarm.metrics.dispersion import nearest_neighbour_distances


def spacing_evenness(positions: Floats) -> float:
    """Return minus the standard deviation of the distances of `positions` (N, 2) to the nearest other one, in m.

    0 is as even as can be. NaN for a single agent.
    """
    return -float(nearest_neighbour_distances(positions).std()) if len(positions) > 1 else float("nan")


class DistanceSizeRatio(ScaledMetric):
    """How evenly the agents are spread, 0 or less; see `spacing_evenness`."""

    def unscaled(self, crowd: Crowd) -> float:
        """Return the value before `scale`."""
        return spacing_evenness(crowd.positions)
