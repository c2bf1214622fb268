"""How aligned the headings of the agents are."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric


def polarization(headings: Floats) -> float:
    """Return |1/N sum (cos h_i, sin h_i)| of `headings` (N,): 1 where all look the same way, near 0 in disorder.

    The order parameter of Vicsek, Czirok, Ben-Jacob, Cohen and Shochet, "Novel type of phase transition in a system of
    self-driven particles" (1995).
    """
    return float(trig.hypot(trig.cos(headings).mean(), trig.sin(headings).mean()))


class Polarization(CrowdMetric):
    """How much the agents look the same way, 0 to 1; see `polarization`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return polarization(crowd.headings)
