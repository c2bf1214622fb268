"""How agents move: how fast, how much about their middle, and how alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, centred
from fleet_sim.swarm.parameters import choice_setting, documented


@documented
@dataclass(eq=False, repr=False)
class SpeedMetric(CrowdMetric):
    """Base of metrics of how agents move. Override `measure`, and take `velocities` for it.

    That is the motion which took place, so an agent that drives against a wall stands still.
    """

    per: str = choice_setting(
        "second", ("second", "step"), "The unit of speed: metres per second, or metres per step of the world."
    )

    def velocities(self, crowd: Crowd) -> Floats:
        """Return the mean velocities (N, 2) of `crowd` during the last step, in m/s, or in m per step."""
        return crowd.ways / self.watched.dt if self.per == "second" else crowd.ways


def average_speed(velocities: Floats) -> float:
    """Return 1/N sum |v_i| of `velocities` (N, 2), in m/s.

    Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    return float(trig.hypot(velocities[:, 0], velocities[:, 1]).mean())


class AverageSpeed(SpeedMetric):
    """The mean speed, in m/s; see `average_speed`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return average_speed(self.velocities(crowd))


def angular_momentum(positions: Floats, velocities: Floats, radius: float) -> float:
    """Return 1/(R N) sum v_i x (x_i - c), with the centroid c of `positions` (N, 2) and the world's `radius` R.

    The product of plane vectors is v_x d_y - v_y d_x, so turning clockwise is positive. Unit m/s. Brown et al.,
    "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities" (2018).
    """
    offsets, _ = centred(positions)
    products = velocities[:, 0] * offsets[:, 1] - velocities[:, 1] * offsets[:, 0]
    return float(products.mean() / radius)


class AngularMomentum(SpeedMetric):
    """The angular momentum about the centroid per agent and world radius; see `angular_momentum`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return angular_momentum(crowd.positions, self.velocities(crowd), self.world_radius)


def group_rotation(positions: Floats, velocities: Floats) -> float:
    """Return 1/N sum v_i x (x_i - c) / |x_i - c|, with the centroid c of `positions` (N, 2).

    The product of plane vectors is v_x d_y - v_y d_x, so turning clockwise is positive; an agent at the centroid counts
    as 0. Unit m/s. Brown et al., "Discovery and Exploration of Novel Swarm Behaviors Given Limited Robot Capabilities"
    (2018).
    """
    offsets, distances = centred(positions)
    products = velocities[:, 0] * offsets[:, 1] - velocities[:, 1] * offsets[:, 0]
    return float(np.where(distances > 0.0, products / np.where(distances > 0.0, distances, 1.0), 0.0).mean())


class GroupRotation(SpeedMetric):
    """The mean speed around the centroid, in m/s; see `group_rotation`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return group_rotation(crowd.positions, self.velocities(crowd))


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
