"""How far the agents went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CountingMetric, Ledger
from fleet_sim.swarm.parameters import documented


def distances_moved(before: Floats, after: Floats) -> Floats:
    """Return |x_i(t) - x_i(t - 1)| (N,) of positions (N, 2) one step apart, in m."""
    ways = after - before
    return trig.hypot(ways[:, 0], ways[:, 1])


@documented
@dataclass(eq=False, repr=False)
class DistanceTravelled(CountingMetric):
    """The mean length of the agents' ways since the metric began: 1/N sum_i sum_t |x_i(t) - x_i(t - 1)|, in m.

    N are the agents there are now; with `total` the sum over all agents there ever were, instead.
    """

    total: bool = setting(False, doc="Return the sum instead of the mean.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        positions, ids = crowd.positions, crowd.columns.object_id[crowd.rows]
        known_mask, before = self._places.exchange(ids, positions)
        moved = np.where(known_mask, distances_moved(before, positions), 0.0)
        _, ways = self._ways.exchange(ids, np.zeros((len(ids), 1)))
        ways = ways + moved[:, None]
        self._ways.exchange(ids, ways)
        self._sum += float(moved.sum())
        return self._sum if self.total else float(ways.mean())

    def begin(self) -> None:
        """Count from here on."""
        self._places = Ledger(2)
        self._ways = Ledger(1)
        self._sum = 0.0
