"""Planners by name."""

from __future__ import annotations

from typing import Any

from fleet_sim.registry import Registry, subclasses_of
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.planners.pibt import Pibt
from fleet_sim.traffic.planners.planner import Planner

PLANNERS: Registry[type[Planner]] = Registry(
    "planner",
    subclasses_of(Planner),
    group="fleet_sim.planner",
    built_in={"pibt": Pibt},
)
"""Classes of planners by name; `find` takes dotted paths, too."""


def make_planner(name: str, network: Network, **settings: Any) -> Planner:
    """Return the planner called `name`, or at the dotted path `name`, for `network`.

    Raises UnknownNameError with the closest name, InvalidValueError for a path that is no planner, and ConfigError for
    settings that it does not have.
    """
    return PLANNERS.find(name)(network, **settings)
