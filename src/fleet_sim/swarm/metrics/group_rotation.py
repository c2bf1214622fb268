"""How much the swarm turns about its middle, independent of the distances to it."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import centred
from fleet_sim.swarm.metrics.speed_metric import SpeedMetric


def group_rotation(positions: Floats, velocities: Floats) -> float:
    """Return 1/N sum v_i x (x_i - c) / |x_i - c|, with the centroid c of `positions` (N, 2).

    The product of plane vectors is v_x d_y - v_y d_x, so turning clockwise is positive; an agent at the centroid counts
    as 0. Unit m/s. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities"
    (2018).
    """
    offsets, distances = centred(positions)
    products = velocities[:, 0] * offsets[:, 1] - velocities[:, 1] * offsets[:, 0]
    return float(np.where(distances > 0.0, products / np.where(distances > 0.0, distances, 1.0), 0.0).mean())


class GroupRotation(SpeedMetric):
    """The mean speed around the centroid, in m/s; see `group_rotation`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return group_rotation(crowd.positions, self.velocities(crowd))
