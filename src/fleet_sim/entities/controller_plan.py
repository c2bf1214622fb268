"""The plan made from the `controller` of a spawn entry: limits and defaults, a motion law, Python controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fleet_sim.core.world import World
from fleet_sim.entities.spawn_params import ControllerParams


@dataclass(frozen=True)
class ControllerPlan:
    """`params` for the motion columns; `law` the motion law's name where one is asked for; `make()` returns new Python
    controllers for one agent, lowest level first.
    """

    params: ControllerParams = field(default_factory=ControllerParams)
    law: str | None = None
    make: Callable[[], list[Any]] = list


def plan_controllers(world: World, spec: Any) -> ControllerPlan:
    """Return the plan for `spec`: None, ControllerParams, or a spec of the world's registry of controllers.

    Raises InvalidValueError, UnknownNameError or ConfigError if `spec` cannot be read.
    """
    if spec is None:
        return ControllerPlan()
    if isinstance(spec, ControllerParams):
        return ControllerPlan(spec)
    plan: ControllerPlan = world.controllers.plan(spec)
    return plan
