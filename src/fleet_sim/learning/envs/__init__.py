"""Environments for reinforcement learning. Only this package imports Gymnasium and PettingZoo.

Importing this package registers the ids, as in `gymnasium.make("fleet_sim.learning.envs:FleetSim/Navigation-v0")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy
from fleet_sim.learning.envs.shared import register_all as _register_all

if TYPE_CHECKING:
    from fleet_sim.learning.envs.franka import BaseGymEnv as BaseGymEnv
    from fleet_sim.learning.envs.franka import Franka0Env as Franka0Env
    from fleet_sim.learning.envs.franka import Franka1Env as Franka1Env
    from fleet_sim.learning.envs.franka import Franka2Env as Franka2Env
    from fleet_sim.learning.envs.franka import FrankaBaseEnv as FrankaBaseEnv
    from fleet_sim.learning.envs.parallel import FleetNavigation as FleetNavigation
    from fleet_sim.learning.envs.parallel import FleetWarehouse as FleetWarehouse
    from fleet_sim.learning.envs.shared import ENVIRONMENTS as ENVIRONMENTS
    from fleet_sim.learning.envs.shared import register_all as register_all
    from fleet_sim.learning.envs.vector import NavigationEnv as NavigationEnv
    from fleet_sim.learning.envs.vector import NavigationVectorEnv as NavigationVectorEnv
    from fleet_sim.learning.envs.vector import WarehouseEnv as WarehouseEnv
    from fleet_sim.learning.envs.vector import WarehouseVectorEnv as WarehouseVectorEnv
else:
    # Imported on first use: navigation must not load the code of the arms, and vice versa.
    __all__, __getattr__, __dir__ = lazy(globals())

_register_all()
