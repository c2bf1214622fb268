"""How unequal the distances to the middle are."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metric import HISTORY_SIZE
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, centred


def radial_variance(positions: Floats, radius: float = 1.0) -> float:
    """Return 1/(R^2 N) sum (|x_i - c| - m)^2, with the centroid c of `positions` (N, 2) and m the mean of |x_i - c|.

    R is the world's `radius`; with 1 the unit is m^2. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors
    Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float(((distances - distances.mean()) ** 2).mean() / radius**2)


class RadialVariance(CrowdMetric):
    """The variance of the distances to the centroid; see `radial_variance`."""

    def __init__(
        self,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
        regularize: bool = True,
    ) -> None:
        """`regularize`: false leaves the world's radius out, the unit is then m^2. Others: see `CrowdMetric`."""
        super().__init__(name, history_size, team)
        self.regularize = regularize

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return radial_variance(crowd.positions, self.world_radius if self.regularize else 1.0)
