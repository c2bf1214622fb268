"""How far the agents are from each other."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, ScaledMetric
from fleet_sim.swarm.metrics.radial import mean_distance
from fleet_sim.swarm.neighbours import targets_within

_BLOCK = 1 << 20


def dispersion(positions: Floats) -> float:
    """Return 2/(N (N - 1)) sum_{i < j} |x_i - x_j| of `positions` (N, 2), in m; 0 for one agent. Time goes with N^2.

    The mean distance between two agents, the InteragentDispersion of RobotSwarmSimulator.
    """
    count = len(positions)
    if count < 2:
        return 0.0
    # In blocks: all pairs at once would need memory that grows with N^2.
    total, rows = 0.0, max(1, _BLOCK // count)
    for begin in range(0, count, rows):
        offsets = positions[begin : begin + rows, None, :] - positions[None, :, :]
        total += float(trig.hypot(offsets[:, :, 0], offsets[:, :, 1]).sum())
    return total / (count * (count - 1))


def nearest_neighbour_distance(positions: Floats) -> float:
    """Return 1/N sum_i min_{j != i} |x_i - x_j| of `positions` (N, 2), in m; NaN for one agent.

    Clark and Evans, "Distance to nearest neighbor as a measure of spatial relationships in populations" (1954).
    """
    return float(nearest_neighbour_distances(positions).mean()) if len(positions) > 1 else float("nan")


def nearest_neighbour_distances(positions: Floats) -> Floats:
    """Return min_{j != i} |x_i - x_j| of two `positions` (N, 2) or more: (N,), in m."""
    count = len(positions)
    spread = positions.max(axis=0) - positions.min(axis=0)
    # Such that a handful is within reach where agents are spread evenly, or along a line; the bound is for all in one
    # place.
    reach = max(float(np.sqrt(4.0 * spread[0] * spread[1] / count)), float(spread.max()) / count, 1e-9)
    nearest = np.full(count, np.inf)
    left = np.arange(count)
    while len(left):
        local, other = targets_within(positions[left], positions, reach)
        # Nobody is a neighbour of its own.
        kept = np.flatnonzero(left[local] != other)
        one, other = left[local[kept]], other[kept]
        offsets = positions[one] - positions[other]
        np.minimum.at(nearest, one, trig.hypot(offsets[:, 0], offsets[:, 1]))
        # All within reach were compared, so who found one found the nearest; the others look twice as far.
        left = left[np.isinf(nearest[left])]
        reach *= 2.0
    return nearest


class InteragentDispersion(CrowdMetric):
    """The mean distance between two agents, in m; see `dispersion`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return dispersion(crowd.positions)


class ExplodingDispersion(CrowdMetric):
    """The mean distance to the centroid, in m; see `mean_distance`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return mean_distance(crowd.positions)


class NearestNeighbourDistance(CrowdMetric):
    """The mean distance to the nearest other agent, in m; see `nearest_neighbour_distance`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return nearest_neighbour_distance(crowd.positions)


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
