"""How wide the ring is that the agents fill."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import ScaledMetric, centred


def radial_range(positions: Floats) -> float:
    """Return max|x_i - c| - min|x_i - c|, with the centroid c of `positions` (N, 2), in m: 0 on a circle."""
    _, distances = centred(positions)
    return float(distances.max() - distances.min())


class RoutRin(ScaledMetric):
    """The width of the ring that the agents fill, in m; see `radial_range`."""

    def unscaled(self, crowd: Crowd) -> float:
        """Return the value before `scale`."""
        return radial_range(crowd.positions)
