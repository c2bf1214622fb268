"""A point held out by the agent: is it inside somebody?"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows, as_float
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.sensors.binary_sensor import BinarySensor
from fleet_sim.swarm.sensors.search import Candidates, any_hit

_WHAT = "PointCollisionSensor"


class PointCollisionSensor(BinarySensor):
    """Reads 1 while the point `distance` m away, `bias` rad to the left of the heading, is in another agent's disc."""

    def __init__(
        self,
        distance: float = 100.0,
        bias: float = 0.0,
        false_positive: float = 0.0,
        false_negative: float = 0.0,
        time_step_between_sensing: int = 1,
        invert: bool = False,
        store_history: bool = False,
        show: bool = True,
        seed: int | None = None,
        target_team: int | str | None = None,
    ) -> None:
        """`distance`: of the point from the agent's middle, m. `bias`: rad.

        `false_positive`, `false_negative`: shares of wrong readings. `time_step_between_sensing`: look at every so many
        steps. `invert`: swap 0 and 1. `store_history`: keep the last readings in `history`. `show`: draw it. `seed`: of
        the wrong readings; None: the world's. `target_team`: detect agents of this team only; None: all.
        """
        super().__init__(
            false_positive=false_positive,
            false_negative=false_negative,
            time_step_between_sensing=time_step_between_sensing,
            invert=invert,
            store_history=store_history,
            show=show,
            seed=seed,
        )
        self.distance = as_float(distance, f"{_WHAT}: distance in m", low=0.0)
        self.bias = as_float(bias, f"{_WHAT}: bias in rad")
        self.target_team = target_team

    def points(self, group: Group) -> Floats:
        """Return the points (N, 2) in the world frame."""
        looks = group.headings + self.bias
        return np.asarray(group.positions + self.distance * np.stack((np.cos(looks), np.sin(looks)), axis=1))

    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) hold their point into somebody."""
        points = self.points(group)
        candidates = Candidates(group, group.world.team_code(self.target_team))

        def covered(agent: Rows, candidate: Rows) -> Bools:
            x = candidates.positions[:, 0].take(candidate) - points[:, 0].take(agent)
            y = candidates.positions[:, 1].take(candidate) - points[:, 1].take(agent)
            radii = candidates.radii.take(candidate)
            return np.asarray(x * x + y * y <= radii * radii)

        reach = float(candidates.radii.max()) if len(candidates) else 0.0
        return any_hit(points, candidates, reach, covered)

    def outlines(self, group: Group) -> Floats | None:
        """Return lines (N, 2, 2) to the points; None where they are not to be drawn."""
        return np.stack((group.positions, self.points(group)), axis=1) if self.show else None
