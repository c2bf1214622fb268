"""How many agents are in one cluster."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows, as_float
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metric import HISTORY_SIZE
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.neighbours import pairs_within


def components(first: Rows, second: Rows, count: int) -> Ints:
    """Return for each of `count` nodes (count,) the least node it is connected with by the edges (first, second)."""
    label = np.arange(count)
    while True:
        least = np.minimum(label[first], label[second])
        after = label.copy()
        np.minimum.at(after, label[first], least)
        np.minimum.at(after, label[second], least)
        after = after[after]
        if (after == label).all():
            return label
        label = after


def aggregation(positions: Floats, distance: float) -> float:
    """Return the share of agents at `positions` (N, 2) that are in the largest cluster: 1/N to 1.

    Two agents are in one cluster where a chain of agents, each at most `distance` m from the next, joins them. Gauci,
    Chen, Li, Dodd and Gross, "Self-organized aggregation without computation" (2014), where the distance is four radii:
    nobody fits in between.
    """
    first, second = pairs_within(positions, distance)
    return float(np.bincount(components(first, second, len(positions))).max() / len(positions))


class Aggregation(CrowdMetric):
    """The share of agents in the largest cluster; see `aggregation`."""

    def __init__(
        self,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
        distance: float | None = None,
    ) -> None:
        """`distance`: between neighbours in a cluster, m; None: four times the largest radius. Others: see
        `CrowdMetric`.
        """
        super().__init__(name, history_size, team)
        self.distance = None if distance is None else as_float(distance, "Aggregation: distance in m", low=0.0)

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        distance = 4.0 * float(crowd.radii.max()) if self.distance is None else self.distance
        return aggregation(crowd.positions, distance)
