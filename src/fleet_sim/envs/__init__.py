"""Environments for learning: Gymnasium and PettingZoo. They are imported here only.

Importing this package registers the ids, as in `gymnasium.make("fleet_sim.envs:FleetSim/Navigation-v0")`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fleet_sim.envs.registration import ENVIRONMENTS, register_all

if TYPE_CHECKING:
    from fleet_sim.envs.base_env import BaseGymEnv
    from fleet_sim.envs.franka import Franka0Env, Franka1Env, Franka2Env
    from fleet_sim.envs.franka_base import FrankaBaseEnv
    from fleet_sim.envs.parallel import FleetNavigation, FleetWarehouse
    from fleet_sim.envs.single import NavigationEnv, WarehouseEnv
    from fleet_sim.envs.vector import NavigationVectorEnv

__all__ = [
    "BaseGymEnv",
    "ENVIRONMENTS",
    "FleetNavigation",
    "FleetWarehouse",
    "Franka0Env",
    "Franka1Env",
    "Franka2Env",
    "FrankaBaseEnv",
    "NavigationEnv",
    "NavigationVectorEnv",
    "WarehouseEnv",
    "register_all",
]

_HOMES = {
    "BaseGymEnv": "base_env",
    "FleetNavigation": "parallel",
    "FleetWarehouse": "parallel",
    "Franka0Env": "franka",
    "Franka1Env": "franka",
    "Franka2Env": "franka",
    "FrankaBaseEnv": "franka_base",
    "NavigationEnv": "single",
    "NavigationVectorEnv": "vector",
    "WarehouseEnv": "single",
}

register_all()


def __getattr__(name: str) -> Any:
    """Import a class when it is first asked for: who learns to drive loads no arm."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
