"""Spawners: what brings agents into a world. One line here gives a spawner its names."""

from __future__ import annotations

from fleet_sim.swarm.parameters import PartRegistry, built_in_names
from fleet_sim.swarm.spawners.agent_spawner import AgentSpawner as AgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import CsvAgentSpawner as CsvAgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import DonutAgentSpawner as DonutAgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import FixedAgentSpawner as FixedAgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import GridAgentSpawner as GridAgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import PointAgentSpawner as PointAgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import UniformAgentSpawner as UniformAgentSpawner
from fleet_sim.swarm.spawners.agent_spawner import UniformCircleAgentSpawner as UniformCircleAgentSpawner
from fleet_sim.swarm.swarm_world import Spawner

SPAWNERS = PartRegistry(
    "spawner", Spawner, built_in_names(globals(), suffix="AgentSpawner", short={UniformCircleAgentSpawner: "circle"})
)
