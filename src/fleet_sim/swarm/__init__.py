"""Swarm worlds: a population with controllers and sensors, objects, spawners, metrics and subscribers.

Read `swarm_state.py` and `stepping.py` first: the view that parts have of a world, and the order of a step. User
classes derive from Controller, Sensor, Metric, Spawner or Subscriber. The names below can be imported from here; each
is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.swarm.agent_columns import Crowd as Crowd
    from fleet_sim.swarm.agent_config import AgentConfig as AgentConfig
    from fleet_sim.swarm.agent_config import BaseAgentConfig as BaseAgentConfig
    from fleet_sim.swarm.agent_config import DetectionRegionConfig as DetectionRegionConfig
    from fleet_sim.swarm.agent_config import DiffDriveAgentConfig as DiffDriveAgentConfig
    from fleet_sim.swarm.agent_config import MazeAgentConfig as MazeAgentConfig
    from fleet_sim.swarm.agent_config import StaticAgentConfig as StaticAgentConfig
    from fleet_sim.swarm.agent_config import StaticObjectConfig as StaticObjectConfig
    from fleet_sim.swarm.agent_config import UnicycleAgentConfig as UnicycleAgentConfig
    from fleet_sim.swarm.agents import Agent as Agent
    from fleet_sim.swarm.agents import Controller as Controller
    from fleet_sim.swarm.agents import DetectionRegion as DetectionRegion
    from fleet_sim.swarm.agents import DiffDriveAgent as DiffDriveAgent
    from fleet_sim.swarm.agents import Group as Group
    from fleet_sim.swarm.agents import MazeAgent as MazeAgent
    from fleet_sim.swarm.agents import Sensor as Sensor
    from fleet_sim.swarm.agents import StaticAgent as StaticAgent
    from fleet_sim.swarm.agents import StaticObject as StaticObject
    from fleet_sim.swarm.agents import SwarmAgent as SwarmAgent
    from fleet_sim.swarm.agents import UnicycleAgent as UnicycleAgent
    from fleet_sim.swarm.controllers import *  # noqa: F403  # its parts
    from fleet_sim.swarm.members import Spawner as Spawner
    from fleet_sim.swarm.members import Subscriber as Subscriber
    from fleet_sim.swarm.metrics import *  # noqa: F403  # its parts
    from fleet_sim.swarm.pictures import WorldSubscriber as WorldSubscriber
    from fleet_sim.swarm.registry import associated_type as associated_type
    from fleet_sim.swarm.registry import register_agent_type as register_agent_type
    from fleet_sim.swarm.registry import register_controller_type as register_controller_type
    from fleet_sim.swarm.registry import register_dictlike_namespace as register_dictlike_namespace
    from fleet_sim.swarm.registry import register_dictlike_type as register_dictlike_type
    from fleet_sim.swarm.registry import register_metric_type as register_metric_type
    from fleet_sim.swarm.registry import register_sensor_type as register_sensor_type
    from fleet_sim.swarm.registry import register_spawner_type as register_spawner_type
    from fleet_sim.swarm.registry import register_world_type as register_world_type
    from fleet_sim.swarm.sensors import BinaryFOVSensor as BinaryFOVSensor
    from fleet_sim.swarm.sensors import BinaryLOSSensor as BinaryLOSSensor
    from fleet_sim.swarm.sensors import NeighboursInRangeSensor as NeighboursInRangeSensor
    from fleet_sim.swarm.sensors import PointCollisionSensor as PointCollisionSensor
    from fleet_sim.swarm.sensors import RegionalSensor as RegionalSensor
    from fleet_sim.swarm.sensors import StaticSensor as StaticSensor
    from fleet_sim.swarm.sensors import Targeter as Targeter
    from fleet_sim.swarm.simulate import run_sim as run_sim
    from fleet_sim.swarm.spawners import AgentSpawner as AgentSpawner
    from fleet_sim.swarm.spawners import CsvAgentSpawner as CsvAgentSpawner
    from fleet_sim.swarm.spawners import DonutAgentSpawner as DonutAgentSpawner
    from fleet_sim.swarm.spawners import FixedAgentSpawner as FixedAgentSpawner
    from fleet_sim.swarm.spawners import GridAgentSpawner as GridAgentSpawner
    from fleet_sim.swarm.spawners import PointAgentSpawner as PointAgentSpawner
    from fleet_sim.swarm.spawners import UniformAgentSpawner as UniformAgentSpawner
    from fleet_sim.swarm.spawners import UniformCircleAgentSpawner as UniformCircleAgentSpawner
    from fleet_sim.swarm.swarm_state import AbstractMetric as AbstractMetric
    from fleet_sim.swarm.swarm_state import Metric as Metric
    from fleet_sim.swarm.world import BaseWorldConfig as BaseWorldConfig
    from fleet_sim.swarm.world import RectangularWorld as RectangularWorld
    from fleet_sim.swarm.world import RectangularWorldConfig as RectangularWorldConfig
    from fleet_sim.swarm.world import World as World
    from fleet_sim.swarm.world import World_from_config as World_from_config
    from fleet_sim.swarm.world import WorldConfig as WorldConfig
    from fleet_sim.swarm.world import config_from_dict as config_from_dict
    from fleet_sim.swarm.world import config_from_yaml as config_from_yaml
    from fleet_sim.swarm.world import world_from_config as world_from_config
else:
    __all__, __getattr__, __dir__ = lazy(globals())
