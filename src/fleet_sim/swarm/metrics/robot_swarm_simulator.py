"""Metrics under RobotSwarmSimulator's names, with its quantities, so that its files run unchanged.

Aggregation is a name of both, for two quantities: there it is `AggregationFromFirst`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import setting
from fleet_sim.swarm.metrics.motion import AngularMomentum, AverageSpeed, GroupRotation
from fleet_sim.swarm.metrics.radial import RadialVariance, Scatter
from fleet_sim.swarm.metrics.sub_group import SubGroup
from fleet_sim.swarm.metrics.total_collisions import TotalCollisions
from fleet_sim.swarm.parameters import choice_setting, documented

PER_STEP = "The unit of speed: metres per step of the world, or metres per second."


@documented
@dataclass(eq=False, repr=False)
class AverageSpeedBehavior(AverageSpeed):
    """The mean speed, in m per step."""

    per: str = choice_setting("step", ("step", "second"), PER_STEP)


@documented
@dataclass(eq=False, repr=False)
class AngularMomentumBehavior(AngularMomentum):
    """The angular momentum about the centroid per agent and world radius, in m per step."""

    per: str = choice_setting("step", ("step", "second"), PER_STEP)


@documented
@dataclass(eq=False, repr=False)
class GroupRotationBehavior(GroupRotation):
    """The mean speed around the centroid, in m per step."""

    per: str = choice_setting("step", ("step", "second"), PER_STEP)


class ScatterBehavior(Scatter):
    """The mean square distance to the centroid over that of the world's radius: the same as `Scatter`."""


@documented
@dataclass(eq=False, repr=False)
class RadialVarianceMetric(RadialVariance):
    """The variance of the distances to the centroid, times 20."""

    weight: float = setting(20.0, doc="Factor on the value.")


@documented
@dataclass(eq=False, repr=False)
class TotalCollisionsBehavior(TotalCollisions):
    """The number of steps in which an agent touched something, added up over the agents."""

    each_step: bool = setting(True, doc="Count every step of a contact, not only its first.")


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class SubGroupBehavior(SubGroup):
    """The same as `SubGroup`. RobotSwarmSimulator's `subgroup: 1` is `include_teams: [1]`."""
