"""How far the agents are from the first one."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric


def aggregation_from_first(positions: Floats) -> float:
    """Return -max|x_i - x_1|, the distance of the farthest of `positions` (N, 2) from the first one, in m."""
    offsets = positions - positions[0]
    return -float(trig.hypot(offsets[:, 0], offsets[:, 1]).max())


class AggregationFromFirst(CrowdMetric):
    """Minus the largest distance from the first agent, in m: what RobotSwarmSimulator calls Aggregation."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return aggregation_from_first(crowd.positions)
