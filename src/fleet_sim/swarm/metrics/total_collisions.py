"""How often agents bump into something."""

from __future__ import annotations

from fleet_sim.arrays import Bools
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metric import HISTORY_SIZE
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, Ledger


def collisions_begun(touching: Bools, touching_before: Bools) -> int:
    """Return how many agents touch something, (N,) bool, and did not before (N,)."""
    return int((touching & ~touching_before).sum())


class TotalCollisions(CrowdMetric):
    """The number of times an agent began to touch another, a wall or an object, since the start.

    Two agents that meet are two times. With `each_step` every step of a touch counts, as in RobotSwarmSimulator.
    """

    def __init__(
        self,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
        each_step: bool = False,
    ) -> None:
        """`each_step`: count agents that touch something in each step. Others: see `CrowdMetric`."""
        super().__init__(name, history_size, team)
        self.each_step = each_step
        self.reset()

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        touching = crowd.touching
        ids = crowd.columns.object_id[crowd.rows]
        _, before = self._before.exchange(ids, touching[:, None].astype(float))
        begun = int(touching.sum()) if self.each_step else collisions_begun(touching, before[:, 0] > 0.0)
        self._total += begun
        return float(self._total)

    def reset(self) -> None:
        """Forget the history, and count from 0."""
        super().reset()
        self._total = 0
        self._before = Ledger(1)
