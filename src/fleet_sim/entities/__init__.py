"""Objects and agents: handles over the world's columns, spawn parameters, and managers of groups."""

from fleet_sim.entities.agent import Agent
from fleet_sim.entities.agent_manager import AgentManager
from fleet_sim.entities.grid import GridSpawnParams
from fleet_sim.entities.manager import SimObjectManager
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, ControllerParams, SimObjectSpawnParams

__all__ = [
    "Agent",
    "AgentManager",
    "AgentSpawnParams",
    "ControllerParams",
    "GridSpawnParams",
    "ShapeParams",
    "SimObject",
    "SimObjectManager",
    "SimObjectSpawnParams",
]
