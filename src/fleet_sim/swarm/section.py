"""The section `swarm` of a scenario: a swarm world in a simulation, as the ROS node and `fleet-sim run` open it."""

from __future__ import annotations

from typing import Any

from fleet_sim.errors import ConfigError
from fleet_sim.settings import read
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm.world import WORLDS, World_from_config, simulation_params

IMPLIED = ("timestep", "seed", "collision_margin")
"""What a world asks of its simulation."""


def implied_settings(entry: Any, *, source: str = "") -> dict[str, Any]:
    """Return the settings of the simulation that a world asks for; raises ConfigError where it is not right."""
    if not isinstance(entry, dict):
        raise ConfigError(f"must be a mapping with the settings of a world, got {entry!r}", source=source, path="swarm")
    cls, settings = WORLDS.split({"type": "RectangularWorld", **entry})
    params = simulation_params(read(cls.config_class, settings, source=source, path="swarm"))
    return {name: getattr(params, name) for name in IMPLIED}


def open_section(sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
    """Put the world into `sim`, set up; `sim.get_manager("swarm")` returns it. Raises ConfigError."""
    try:
        World_from_config(entry, sim).setup()
    except ConfigError as error:
        raise error.within("swarm", source=source) from error
