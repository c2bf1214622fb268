"""How far and how evenly the agents are spread over a square."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.metrics.delaunay import delaunay_edges

UNEVENNESS = 10.0
"""Weight of the variance, per m^2."""


def delaunay_diffusion(positions: Floats) -> float:
    """Return w h (min(w, h) / max(w, h)) / (1 + 10 v), in m^2.

    w and h are the sides of the box about `positions` (N, 2), and v is the variance of the lengths of the sides of
    their Delaunay triangulation, in m^2. NaN for fewer than three agents, or all on one line.
    """
    edges = delaunay_edges(positions)
    if not len(edges):
        return float("nan")
    sides = positions[edges[:, 0]] - positions[edges[:, 1]]
    variance = float(trig.hypot(sides[:, 0], sides[:, 1]).var())
    width, height = (positions.max(axis=0) - positions.min(axis=0)).tolist()
    return float(min(width, height) ** 2 / (1.0 + UNEVENNESS * variance))


class DelaunayDiffusion(CrowdMetric):
    """How far and how evenly the agents are spread; see `delaunay_diffusion`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return delaunay_diffusion(crowd.positions)
