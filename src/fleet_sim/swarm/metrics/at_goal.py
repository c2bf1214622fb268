"""The number of agents that have arrived."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.parameters import documented
from fleet_sim.swarm.regions import Region


def at_goal(positions: Floats, goals: Iterable[Region]) -> Bools:
    """Return which of `positions` (N, 2) are inside one of `goals`."""
    inside = np.zeros(len(positions), bool)
    for goal in goals:
        inside |= goal.contains(positions)
    return inside


@documented
@dataclass(eq=False, repr=False)
class AgentsAtGoal(CrowdMetric):
    """The number of agents whose middle is inside a goal, or their share; 0 in a world without goals."""

    as_percent: bool = setting(False, doc="Return the share, 0 to 1, instead of the number.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        inside = at_goal(crowd.positions, self.watched.goals)
        return float(inside.mean()) if self.as_percent else float(inside.sum())


class AtGoalShare(CrowdMetric):
    """The share of agents whose middle is inside a goal: 1/N sum [x_i in a goal], 0 to 1."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return float(at_goal(crowd.positions, self.watched.goals).mean())


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PercentageAtGoal(CrowdMetric):
    """The step in which a share of the agents was first at a goal; the number of steps made, until then."""

    percentage: float = setting(low=0, high=1, doc="The share of agents that must be at a goal.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._steps = 0
        self._found = 0

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        # Counted up to the step of success and not beyond: that number is the value from then on.
        self._steps += self._found == 0
        if not self._found and at_goal(crowd.positions, self.watched.goals).mean() >= self.percentage:
            self._found = self._steps
        return float(self._found or self._steps)

    def steps_counted(self) -> int | None:
        """Return None: it counts from the beginning."""
        return None

    def reset(self) -> None:
        """Forget the history, and start waiting again."""
        super().reset()
        self._steps = 0
        self._found = 0
