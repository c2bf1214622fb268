"""The simulation that a world creates if it is not given one."""

from __future__ import annotations

import secrets

from fleet_sim.config.params import SimulationParams
from fleet_sim.swarm.world_config import RectangularWorldConfig

COLLISION_MARGIN = 1e-3
"""Of the simulations that worlds make for themselves, in m: agents that were pushed apart count as touching."""


def simulation_params(config: RectangularWorldConfig) -> SimulationParams:
    """Return the settings of the simulation a world makes for itself. What user code raises is not survived there."""
    return SimulationParams(
        gui=False,
        timestep=config.time_step,
        seed=secrets.randbits(32) if config.seed is None else config.seed,
        target_rtf=0.0,
        # Agents are kept apart by `separation.py`, which notes who touched something; nobody asks for more by itself.
        collision_check_frequency=0.0,
        collision_margin=COLLISION_MARGIN,
        monitor=False,
        raise_on_fault=True,
    )
