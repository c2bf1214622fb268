"""The number of collisions of agents so far."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Bools
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CountingMetric, Ledger
from fleet_sim.swarm.parameters import documented


def collisions_begun(touching: Bools, touching_before: Bools) -> int:
    """Return how many agents touch something, (N,) bool, and did not before (N,)."""
    return int((touching & ~touching_before).sum())


@documented
@dataclass(eq=False, repr=False)
class TotalCollisions(CountingMetric):
    """The number of times an agent began to touch another, a wall or an object, since the start.

    Two agents that meet are two times. With `each_step` every step of a touch counts, as in RobotSwarmSimulator.
    """

    each_step: bool = setting(False, doc="Count every step of a contact, not only its first.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        touching = crowd.touching
        ids = crowd.columns.object_id[crowd.rows]
        _, before = self._before.exchange(ids, touching[:, None].astype(float))
        begun = int(touching.sum()) if self.each_step else collisions_begun(touching, before[:, 0] > 0.0)
        self._total += begun
        return float(self._total)

    def begin(self) -> None:
        """Count from here on."""
        self._total = 0
        self._before = Ledger(1)
