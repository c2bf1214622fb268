"""How far the agents are from their middle, and how unequally."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.settings import setting
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, ScaledMetric, centred
from fleet_sim.swarm.parameters import documented


def scatter(positions: Floats, radius: float) -> float:
    """Return 1/(R^2 N) sum |x_i - c|^2, with the centroid c of `positions` (N, 2) and the world's `radius` R; no unit.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float((distances * distances).mean() / radius**2)


def mean_distance(positions: Floats) -> float:
    """Return 1/N sum |x_i - c|, with the centroid c of `positions` (N, 2), in m."""
    return float(centred(positions)[1].mean())


@documented
@dataclass(eq=False, repr=False)
class Scatter(CrowdMetric):
    """The mean square distance to the centroid over that of the world's radius; see `scatter`."""

    regularize: bool = setting(
        True, doc="Relative to the world's radius; false: the mean distance in m, see `mean_distance`."
    )

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return scatter(crowd.positions, self.world_radius) if self.regularize else mean_distance(crowd.positions)


def radial_variance(positions: Floats, radius: float = 1.0) -> float:
    """Return 1/(R^2 N) sum (|x_i - c| - m)^2, with the centroid c of `positions` (N, 2) and m the mean of |x_i - c|.

    R is the world's `radius`; with 1 the unit is m^2. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors
    Given Limited Robot Capabilities" (2018).
    """
    _, distances = centred(positions)
    return float(((distances - distances.mean()) ** 2).mean() / radius**2)


@documented
@dataclass(eq=False, repr=False)
class RadialVariance(CrowdMetric):
    """The variance of the distances to the centroid; see `radial_variance`."""

    regularize: bool = setting(True, doc="Divide by the square of the world's radius; false: in m^2.")
    weight: float = setting(1.0, doc="Factor on the value; RobotSwarmSimulator has 20.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.weight * radial_variance(crowd.positions, self.world_radius if self.regularize else 1.0)


def radial_range(positions: Floats) -> float:
    """Return max|x_i - c| - min|x_i - c|, with the centroid c of `positions` (N, 2), in m: 0 on a circle."""
    _, distances = centred(positions)
    return float(distances.max() - distances.min())


class RoutRin(ScaledMetric):
    """The width of the ring that the agents fill, in m; see `radial_range`."""

    def unscaled(self, crowd: Crowd) -> float:
        """Return the value before `scale`."""
        return radial_range(crowd.positions)
