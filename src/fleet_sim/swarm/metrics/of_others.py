"""Metrics under RobotSwarmSimulator's names, and parameters of controllers as angles, for searches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics import crowd as crowds
from fleet_sim.swarm.parameters import Configured, choice_setting, configured


def genes_of(controller: object) -> list[float]:
    """Return the numbers among the parameters of a controller, in their order; those of lists one after the other.

    Parameters that are text, true or false, or null are left out. A controller that can be indexed gives its items.
    """
    # Controllers of users' own may be a sequence of numbers, as RobotSwarmSimulator's are.
    if hasattr(controller, "__getitem__") and hasattr(controller, "__len__"):
        return _numbers(list(controller))  # type: ignore[call-overload]  # it can be indexed
    if not isinstance(controller, Configured):
        return []
    return [number for name in fields_of(type(controller)) for number in _numbers(getattr(controller, name))]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, (list, tuple, np.ndarray)):
        return [number for item in value for number in _numbers(item)]
    # True is an int in Python, but no gene.
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return [float(value)] if is_number else []


@configured
class GeneMetric(crowds.CrowdMetric):
    """Base of metrics of the numbers of the first agent's controller; see `genes_of`."""

    def gene(self, crowd: Crowd, index: int) -> float:
        """Return the number with this index; raises InvalidValueError where there is none."""
        population = self.watched.population
        # By row: agents may have been removed or put in another order since.
        agent = next(agent for agent in population if agent.row == crowd.rows[0])
        known = genes_of(agent.controller) if isinstance(agent, SwarmAgent) else []
        if index >= len(known):
            raise InvalidValueError(
                f"metric {self.name}: the controller of {agent.name} has {len(known)} numbers, so none with index"
                f" {index}; they are {known}"
            )
        return known[index]


@configured(kw_only=True)
class SensorRotation(GeneMetric):
    """A number of the first agent's controller as a share of a full turn: g_i / 2 pi; see `genes_of`."""

    sensor_index: int = setting(low=0, doc="Index of the number, from 0.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.gene(crowd, self.sensor_index) / math.tau


@configured(kw_only=True)
class GeneElementDifference(GeneMetric):
    """The difference of two numbers of the first agent's controller as a share of a full turn: |g_a - g_b| / 2 pi."""

    genome_a_index: int = setting(low=0, doc="Index of the one number, from 0.")
    genome_b_index: int = setting(low=0, doc="Index of the other number, from 0.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return abs(self.gene(crowd, self.genome_a_index) - self.gene(crowd, self.genome_b_index)) / math.tau


# Metrics under RobotSwarmSimulator's names, with its quantities, so that its files run unchanged. Aggregation is a
# name of both, for two quantities: there it is `AggregationFromFirst`.


PER_STEP = "The unit of speed: metres per step of the world, or metres per second."


@configured
class AverageSpeedBehavior(crowds.AverageSpeed):
    """The mean speed, in m per step."""

    per: str = choice_setting("step", ("step", "second"), PER_STEP)


@configured
class AngularMomentumBehavior(crowds.AngularMomentum):
    """The angular momentum about the centroid per agent and world radius, in m per step."""

    per: str = choice_setting("step", ("step", "second"), PER_STEP)


@configured
class GroupRotationBehavior(crowds.GroupRotation):
    """The mean speed around the centroid, in m per step."""

    per: str = choice_setting("step", ("step", "second"), PER_STEP)


class ScatterBehavior(crowds.Scatter):
    """The mean square distance to the centroid over that of the world's radius: the same as `Scatter`."""


@configured
class RadialVarianceMetric(crowds.RadialVariance):
    """The variance of the distances to the centroid, times 20."""

    weight: float = setting(20.0, doc="Factor on the value.")


@configured
class TotalCollisionsBehavior(crowds.TotalCollisions):
    """The number of steps in which an agent touched something, added up over the agents."""

    each_step: bool = setting(True, doc="Count every step of a contact, not only its first.")


@configured(kw_only=True)
class SubGroupBehavior(crowds.SubGroup):
    """The same as `SubGroup`. RobotSwarmSimulator's `subgroup: 1` is `include_teams: [1]`."""
