"""The section `swarm` of a scenario: a swarm world in a simulation, as the ROS node and `fleet-sim run` open it."""

from __future__ import annotations

from typing import Any

from fleet_sim.config.sections import Section
from fleet_sim.errors import ConfigError
from fleet_sim.settings import object_schema, read
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm.world import WORLDS, World_from_config
from fleet_sim.swarm.world_config import RectangularWorldConfig, simulation_params

IMPLIED = ("timestep", "seed", "collision_margin")
"""Settings that a world requires of its simulation."""


class SwarmSection(Section[MultiRobotSimulationCore]):
    """Opens a swarm world in a simulation; `sim.get_manager("swarm")` returns it."""

    doc = "A swarm world: its population, spawners, objects, metrics."

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a world."""
        schema = object_schema(RectangularWorldConfig)
        kind = {"type": "string", "description": "The world's class.", "default": "RectangularWorld"}
        schema["properties"]["type"] = kind
        return schema

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings of the world are wrong; its agents are read when it is opened."""
        self.implied_settings(entry, source=source)

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        """Return the settings of the simulation that a world asks for; raises ConfigError where it is not right."""
        if not isinstance(entry, dict):
            message = f"must be a mapping with the settings of a world, got {entry!r}"
            raise ConfigError(message, source=source, path="swarm")
        # The world's settings are read twice, here for what they imply and when it is opened: neither waits for the
        # other.
        cls, settings = WORLDS.split({"type": "RectangularWorld", **entry})
        params = simulation_params(read(cls.config_class, settings, source=source, path="swarm"))
        return {name: getattr(params, name) for name in IMPLIED}

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Put the world into `sim`, set up. Raises ConfigError."""
        try:
            # Without a source: the scenario's is added below, with the key of the section.
            World_from_config(entry, sim).setup()
        except ConfigError as error:
            raise error.within("swarm", source=source) from error


SECTION = SwarmSection()
