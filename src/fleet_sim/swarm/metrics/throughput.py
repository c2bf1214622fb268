"""How many agents arrive per second."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from fleet_sim.arrays import Bools
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.at_goal import at_goal
from fleet_sim.swarm.metrics.crowd_metric import CountingMetric, Ledger
from fleet_sim.swarm.parameters import documented


def arrivals(inside: Bools, inside_before: Bools) -> int:
    """Return how many agents are inside a goal, (N,) bool, and were not before (N,)."""
    return int((inside & ~inside_before).sum())


@documented
@dataclass(eq=False, repr=False)
class Throughput(CountingMetric):
    """Arrivals at goals per second: those of the last `window` s over `window`, or over the time so far where shorter.

    An arrival is an agent that comes from outside all goals to inside one.
    """

    window: float = setting(60.0, low=1e-6, unit="s", doc="Time window in which arrivals are counted.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        world = self.watched
        inside = at_goal(crowd.positions, world.goals)
        ids = crowd.columns.object_id[crowd.rows]
        known_mask, before = self._inside.exchange(ids, inside[:, None].astype(float))
        self._steps += 1
        # Who is spawned inside a goal did not come from outside.
        count = arrivals(inside[known_mask], before[known_mask, 0] > 0.0)
        # Steps without an arrival are left out: the list stays short where the window is long.
        if count:
            self._arrived.append((self._steps, count))
        span = max(1, round(self.window / world.dt))
        while self._arrived and self._arrived[0][0] <= self._steps - span:
            self._arrived.popleft()
        return sum(count for _, count in self._arrived) / (min(span, self._steps) * world.dt)

    def begin(self) -> None:
        """Count from here on."""
        self._inside = Ledger(1)
        self._arrived: deque[tuple[int, int]] = deque()
        self._steps = 0
