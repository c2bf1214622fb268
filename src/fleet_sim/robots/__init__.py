"""Objects and agents: handles over the world's columns, spawn parameters, and managers of groups.

`sim_object.py` and `agent.py` are the handles that users hold: they keep a row, no state. `spawn_params.py` says what
can be spawned, `template.py` turns it into values of columns once, and `spawning.py` writes them for many entities at a
time. `dispatch.py` carries out commands for many robots.
"""

from fleet_sim.robots.agent import Agent
from fleet_sim.robots.manager import AgentManager, SimObjectManager
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, ControllerParams, ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import GridSpawnParams

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
