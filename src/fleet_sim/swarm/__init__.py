"""Swarm worlds: a population with controllers and sensors, objects, spawners, metrics and subscribers.

Read `swarm_state.py` and `stepping.py` first: the view that parts have of a world, and the order of a step. User
classes derive from Controller, Sensor, Metric, Spawner or Subscriber. The names below can be imported from here; each
is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

_HOMES = {
    "agent_types": "DetectionRegion DiffDriveAgent MazeAgent StaticAgent StaticObject UnicycleAgent",
    "agents": "Controller Group Sensor SwarmAgent",
    "world_config": "RectangularWorldConfig WorldConfig",
    "crowd": "Crowd",
    "metric": "AbstractMetric Metric",
    "registry": (
        "register_agent_type register_controller_type register_dictlike_type register_metric_type "
        "register_sensor_type register_spawner_type register_world_type"
    ),
    "spawners": "AgentSpawner",
    "subscribers": "WorldSubscriber",
    "swarm_world": "Spawner Subscriber",
    "world": "RectangularWorld World_from_config",
}

if TYPE_CHECKING:
    from fleet_sim.swarm.agent_types import DetectionRegion as DetectionRegion
    from fleet_sim.swarm.agent_types import DiffDriveAgent as DiffDriveAgent
    from fleet_sim.swarm.agent_types import MazeAgent as MazeAgent
    from fleet_sim.swarm.agent_types import StaticAgent as StaticAgent
    from fleet_sim.swarm.agent_types import StaticObject as StaticObject
    from fleet_sim.swarm.agent_types import UnicycleAgent as UnicycleAgent
    from fleet_sim.swarm.agents import Controller as Controller
    from fleet_sim.swarm.agents import Group as Group
    from fleet_sim.swarm.agents import Sensor as Sensor
    from fleet_sim.swarm.agents import SwarmAgent as SwarmAgent
    from fleet_sim.swarm.crowd import Crowd as Crowd
    from fleet_sim.swarm.metric import AbstractMetric as AbstractMetric
    from fleet_sim.swarm.metric import Metric as Metric
    from fleet_sim.swarm.registry import register_agent_type as register_agent_type
    from fleet_sim.swarm.registry import register_controller_type as register_controller_type
    from fleet_sim.swarm.registry import register_dictlike_type as register_dictlike_type
    from fleet_sim.swarm.registry import register_metric_type as register_metric_type
    from fleet_sim.swarm.registry import register_sensor_type as register_sensor_type
    from fleet_sim.swarm.registry import register_spawner_type as register_spawner_type
    from fleet_sim.swarm.registry import register_world_type as register_world_type
    from fleet_sim.swarm.spawners import AgentSpawner as AgentSpawner
    from fleet_sim.swarm.subscribers import WorldSubscriber as WorldSubscriber
    from fleet_sim.swarm.swarm_world import Spawner as Spawner
    from fleet_sim.swarm.swarm_world import Subscriber as Subscriber
    from fleet_sim.swarm.world import RectangularWorld as RectangularWorld
    from fleet_sim.swarm.world import World_from_config as World_from_config
    from fleet_sim.swarm.world_config import RectangularWorldConfig as RectangularWorldConfig
    from fleet_sim.swarm.world_config import WorldConfig as WorldConfig
else:
    __all__, __getattr__, __dir__ = lazy(globals(), _HOMES)
