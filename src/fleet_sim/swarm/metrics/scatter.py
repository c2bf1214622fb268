"""How far the agents are from their middle."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metric import HISTORY_SIZE
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, centred


def scatter(positions: Floats, radius: float) -> float:
    """Return 1/(R^2 N) sum |x_i - c|^2, with the centroid c of `positions` (N, 2) and the world's `radius` R; no unit.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float((distances * distances).mean() / radius**2)


def mean_distance(positions: Floats) -> float:
    """Return 1/N sum |x_i - c|, with the centroid c of `positions` (N, 2), in m."""
    return float(centred(positions)[1].mean())


class Scatter(CrowdMetric):
    """The mean square distance to the centroid over that of the world's radius; see `scatter`."""

    def __init__(
        self,
        name: str | None = None,
        history_size: int = HISTORY_SIZE,
        team: int | str | None = None,
        regularize: bool = True,
    ) -> None:
        """`regularize`: false gives the mean distance in m instead, see `mean_distance`. Others: see `CrowdMetric`."""
        super().__init__(name, history_size, team)
        self.regularize = regularize

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return scatter(crowd.positions, self.world_radius) if self.regularize else mean_distance(crowd.positions)
