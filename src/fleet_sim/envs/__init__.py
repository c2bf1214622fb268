"""Environments for reinforcement learning. Only this package imports Gymnasium and PettingZoo.

Importing this package registers the ids, as in `gymnasium.make("fleet_sim.envs:FleetSim/Navigation-v0")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.envs.registration import register_all as _register_all
from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.envs.base_env import BaseGymEnv as BaseGymEnv
    from fleet_sim.envs.franka import Franka0Env as Franka0Env
    from fleet_sim.envs.franka import Franka1Env as Franka1Env
    from fleet_sim.envs.franka import Franka2Env as Franka2Env
    from fleet_sim.envs.franka_base import FrankaBaseEnv as FrankaBaseEnv
    from fleet_sim.envs.parallel import FleetNavigation as FleetNavigation
    from fleet_sim.envs.parallel import FleetWarehouse as FleetWarehouse
    from fleet_sim.envs.registration import ENVIRONMENTS as ENVIRONMENTS
    from fleet_sim.envs.registration import register_all as register_all
    from fleet_sim.envs.single import NavigationEnv as NavigationEnv
    from fleet_sim.envs.single import WarehouseEnv as WarehouseEnv
    from fleet_sim.envs.spread import SpreadVectorEnv as SpreadVectorEnv
    from fleet_sim.envs.vector import NavigationVectorEnv as NavigationVectorEnv
else:
    # Imported on first use: navigation must not load the code of the arms, and vice versa.
    __all__, __getattr__, __dir__ = lazy(globals())

_register_all()
