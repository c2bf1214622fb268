"""Metrics under RobotSwarmSimulator's names, and parameters of controllers as angles, for searches."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics import crowd as crowds
from fleet_sim.swarm.parameters import Configured, configured


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


def _with(name: str, base: type[Any], **defaults: object) -> type[Any]:
    """Return the metric `name`: `base` with other defaults of its settings."""
    known = {field.name: field for field in dataclasses.fields(base)}
    own = {key: dataclasses.field(default=value, metadata=known[key].metadata) for key, value in defaults.items()}
    own |= {
        "__doc__": base.__doc__,
        "__module__": __name__,
        "__annotations__": {key: known[key].type for key in defaults},
    }
    return configured(type(name, (base,), own))


AverageSpeedBehavior = _with("AverageSpeedBehavior", crowds.AverageSpeed, per="step")
AngularMomentumBehavior = _with("AngularMomentumBehavior", crowds.AngularMomentum, per="step")
GroupRotationBehavior = _with("GroupRotationBehavior", crowds.GroupRotation, per="step")
ScatterBehavior = _with("ScatterBehavior", crowds.Scatter)
RadialVarianceMetric = _with("RadialVarianceMetric", crowds.RadialVariance, weight=20.0)
TotalCollisionsBehavior = _with("TotalCollisionsBehavior", crowds.TotalCollisions, each_step=True)
# RobotSwarmSimulator's `subgroup: 1` is `include_teams: [1]`.
SubGroupBehavior = _with("SubGroupBehavior", crowds.SubGroup)
