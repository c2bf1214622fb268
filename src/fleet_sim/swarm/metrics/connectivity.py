"""How well the agents keep together, as a graph and as a chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.aggregation import components
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.neighbours import pairs_within
from fleet_sim.swarm.parameters import documented


def algebraic_connectivity(positions: Floats, reach: float) -> float:
    """Return the second smallest eigenvalue of the Laplacian L = D - A of the disc graph of `positions` (N, 2).

    Two agents are adjacent where they are at most `reach` m apart. It is 0 for a graph in several parts and N for a
    complete one; one agent alone has 0. Fiedler, "Algebraic connectivity of graphs" (1973). Time goes with N^3 while
    the graph is connected.
    """
    count = len(positions)
    first, second = pairs_within(positions, reach)
    if count < 2 or components(first, second, count).any():
        return 0.0
    laplacian = np.zeros((count, count))
    laplacian[first, second] = laplacian[second, first] = -1.0
    degrees = np.bincount(first, minlength=count) + np.bincount(second, minlength=count)
    laplacian[np.arange(count), np.arange(count)] = degrees
    return max(float(np.linalg.eigvalsh(laplacian)[1]), 0.0)


@documented
@dataclass(eq=False, repr=False)
class AlgebraicConnectivity(CrowdMetric):
    """The algebraic connectivity of the agents' disc graph; see `algebraic_connectivity`."""

    r_disk_size: float = setting(10.0, low=0, unit="m", doc="Distance at which two agents are adjacent.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return algebraic_connectivity(crowd.positions, self.r_disk_size)


def chain_gap(positions: Floats) -> float:
    """Return max_i |x_i - x_{i - 1}| of `positions` (N, 2) in order, in m; 0 for one agent.

    The largest gap in a chain in which each agent follows the one before it.
    """
    ways = np.diff(positions, axis=0)
    return float(trig.hypot(ways[:, 0], ways[:, 1]).max()) if len(ways) else 0.0


class ChainGap(CrowdMetric):
    """The largest distance between an agent and the next one in order of spawning, in m; see `chain_gap`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return chain_gap(crowd.positions)
