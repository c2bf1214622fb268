"""How many agents arrive per second."""

from __future__ import annotations

from collections import deque

from fleet_sim.arrays import Bools, as_float
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metric import HISTORY_SIZE
from fleet_sim.swarm.metrics.at_goal import at_goal
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, Ledger


def arrivals(inside: Bools, inside_before: Bools) -> int:
    """Return how many agents are inside a goal, (N,) bool, and were not before (N,)."""
    return int((inside & ~inside_before).sum())


class Throughput(CrowdMetric):
    """Arrivals at goals per second: those of the last `window` s over `window`, or over the time so far where shorter.

    An arrival is an agent that comes from outside all goals to inside one.
    """

    def __init__(
        self,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
        window: float = 60.0,
    ) -> None:
        """`window`: s. Others: see `CrowdMetric`."""
        super().__init__(name, history_size, team)
        self.window = as_float(window, "Throughput: window in s", low=1e-6)
        self.reset()

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        world = self.watched
        inside = at_goal(crowd.positions, world.goals)
        ids = crowd.columns.object_id[crowd.rows]
        known_mask, before = self._inside.exchange(ids, inside[:, None].astype(float))
        self._steps += 1
        count = arrivals(inside[known_mask], before[known_mask, 0] > 0.0)
        if count:
            self._arrived.append((self._steps, count))
        span = max(1, round(self.window / world.dt))
        while self._arrived and self._arrived[0][0] <= self._steps - span:
            self._arrived.popleft()
        return sum(count for _, count in self._arrived) / (min(span, self._steps) * world.dt)

    def reset(self) -> None:
        """Forget the history, and count from here on."""
        super().reset()
        self._inside = Ledger(1)
        self._arrived: deque[tuple[int, int]] = deque()
        self._steps = 0
