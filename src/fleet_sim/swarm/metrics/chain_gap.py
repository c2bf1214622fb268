"""How well a chain of agents keeps together."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric


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
