"""How many agents have arrived."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fleet_sim.arrays import Bools, Floats, as_float
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metric import HISTORY_SIZE
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.regions import Region


def at_goal(positions: Floats, goals: Iterable[Region]) -> Bools:
    """Return which of `positions` (N, 2) are inside one of `goals`."""
    inside = np.zeros(len(positions), bool)
    for goal in goals:
        inside |= goal.contains(positions)
    return inside


class AgentsAtGoal(CrowdMetric):
    """The number of agents whose middle is inside a goal, or their share; 0 in a world without goals."""

    def __init__(
        self,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
        as_percent: bool = False,
    ) -> None:
        """`as_percent`: the share, 0 to 1, instead of the number. Others: see `CrowdMetric`."""
        super().__init__(name, history_size, team)
        self.as_percent = as_percent

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        inside = at_goal(crowd.positions, self.watched.goals)
        return float(inside.mean()) if self.as_percent else float(inside.sum())


class AtGoalShare(AgentsAtGoal):
    """The share of agents whose middle is inside a goal: 1/N sum [x_i in a goal], 0 to 1."""

    def __init__(
        self, name: str | None = None, history_size: int = HISTORY_SIZE, team: int | str | None = None
    ) -> None:
        """See `CrowdMetric`."""
        super().__init__(name, history_size, team, as_percent=True)


class PercentageAtGoal(CrowdMetric):
    """The step in which a share of the agents was first at a goal; the number of steps made, until then."""

    def __init__(
        self,
        percentage: float,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
    ) -> None:
        """`percentage`: the share that counts, 0 to 1. Others: see `CrowdMetric`."""
        super().__init__(name, history_size, team)
        self.percentage = as_float(percentage, "PercentageAtGoal: percentage", low=0.0, high=1.0)
        self._steps = 0
        self._found = 0

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        self._steps += self._found == 0
        if not self._found and at_goal(crowd.positions, self.watched.goals).mean() >= self.percentage:
            self._found = self._steps
        return float(self._found or self._steps)

    def reset(self) -> None:
        """Forget the history, and wait anew."""
        super().reset()
        self._steps = 0
        self._found = 0
