"""The services of simulation_interfaces, as in other simulators; served if that package is installed.

Only supported features are advertised. A reset restores the initial state and removes entities spawned since, but
published time does not go back.
"""

from __future__ import annotations

from typing import Any

from simulation_interfaces.msg import SimulatorFeatures
from simulation_interfaces.srv import GetSimulatorFeatures

from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.simulation.answers import serve
from fleet_sim.ros.simulation.entities import EntityServices
from fleet_sim.ros.simulation.running import RunServicesOfStandard
from fleet_sim.ros.simulation.spawning import FORMATS, SpawnServices
from fleet_sim.ros.simulation.worlds import WorldServices

FEATURES = (
    "SPAWNING",
    "SPAWNING_ENTITIES",
    "SPAWNABLES",
    "DELETING",
    "NAMED_POSES",
    "POSE_BOUNDS",
    "ENTITY_TAGS",
    "ENTITY_BOUNDS",
    "ENTITY_BOUNDS_BOX",
    "ENTITY_CATEGORIES",
    "ENTITY_STATE_GETTING",
    "ENTITY_STATE_SETTING",
    "ENTITY_INFO_GETTING",
    "ENTITY_INFO_SETTING",
    "SIMULATION_RESET",
    "SIMULATION_RESET_SPAWNED",
    "SIMULATION_STATE_GETTING",
    "SIMULATION_STATE_SETTING",
    "SIMULATION_STATE_PAUSE",
    "STEP_SIMULATION_SINGLE",
    "STEP_SIMULATION_MULTIPLE",
    "STEP_SIMULATION_ACTION",
    "WORLD_LOADING",
    "WORLD_RESOURCE_STRING",
    "WORLD_UNLOADING",
    "WORLD_INFO_GETTING",
    "AVAILABLE_WORLDS",
)
"""What is supported, of those that the installed definitions know. Not: bounds that are hulls, entities from a text,
resets of the time or of the state alone, tags of worlds."""


class StandardServices(Interface):
    """Serves simulation_interfaces below sim/, with the result codes of its definitions."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._run = RunServicesOfStandard(bridge)
        self._entities = EntityServices(bridge)
        self._parts = (SpawnServices(bridge, self._run), WorldServices(bridge, self._run))
        serve(bridge, GetSimulatorFeatures, "get_simulator_features", self._features)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._entities.infos.forget_gone()

    def end_step(self) -> None:
        """Note the velocities, from which accelerations are told."""
        self._entities.accelerations.note()

    def on_reset(self) -> None:
        """Forget velocities: a jump to another state is no acceleration."""
        self._entities.accelerations.forget()

    async def _features(self, request: Any, response: Any) -> None:
        known = (getattr(SimulatorFeatures, name, None) for name in FEATURES)
        response.features.features = [number for number in known if number is not None]
        response.features.spawn_formats = list(FORMATS)
        response.features.custom_info = "fleet_sim; docs/simulation_interfaces.md"
