"""How many agents are in one cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.neighbours import pairs_within
from fleet_sim.swarm.parameters import documented


def components(first: Rows, second: Rows, count: int) -> Ints:
    """Return for each of `count` nodes (count,) the least node it is connected with by the edges (first, second)."""
    label = np.arange(count)
    while True:
        # Labels are joined, not only nodes, and each node then takes the label of its label (Shiloach and Vishkin,
        # 1982): long chains need few rounds.
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


@documented
@dataclass(eq=False, repr=False)
class Aggregation(CrowdMetric):
    """The share of agents in the largest cluster; see `aggregation`."""

    distance: float | None = setting(
        None, low=0, unit="m", doc="Largest distance of neighbours in a cluster; null: four times the largest radius."
    )

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        distance = 4.0 * float(crowd.radii.max()) if self.distance is None else self.distance
        return aggregation(crowd.positions, distance)


def aggregation_from_first(positions: Floats) -> float:
    """Return -max|x_i - x_1|, the distance of the farthest of `positions` (N, 2) from the first one, in m."""
    offsets = positions - positions[0]
    return -float(trig.hypot(offsets[:, 0], offsets[:, 1]).max())


class AggregationFromFirst(CrowdMetric):
    """Minus the largest distance from the first agent, in m: what RobotSwarmSimulator calls Aggregation."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return aggregation_from_first(crowd.positions)
