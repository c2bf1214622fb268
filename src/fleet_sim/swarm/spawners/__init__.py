"""Spawners: what brings agents into a world."""

from __future__ import annotations

from fleet_sim.swarm.spawners.base import AgentSpawner
from fleet_sim.swarm.spawners.fixed import CsvAgentSpawner, FixedAgentSpawner, GridAgentSpawner, PointAgentSpawner
from fleet_sim.swarm.spawners.spread import DonutAgentSpawner, UniformAgentSpawner, UniformCircleAgentSpawner
from fleet_sim.swarm.swarm_world import Spawner

BUILT_IN: dict[str, type[Spawner]] = {
    "PointAgentSpawner": PointAgentSpawner,
    "point": PointAgentSpawner,
    "UniformAgentSpawner": UniformAgentSpawner,
    "uniform": UniformAgentSpawner,
    "UniformCircleAgentSpawner": UniformCircleAgentSpawner,
    "circle": UniformCircleAgentSpawner,
    "DonutAgentSpawner": DonutAgentSpawner,
    "donut": DonutAgentSpawner,
    "GridAgentSpawner": GridAgentSpawner,
    "grid": GridAgentSpawner,
    "FixedAgentSpawner": FixedAgentSpawner,
    "fixed": FixedAgentSpawner,
    "CsvAgentSpawner": CsvAgentSpawner,
    "csv": CsvAgentSpawner,
}

__all__ = [
    "BUILT_IN",
    "AgentSpawner",
    "CsvAgentSpawner",
    "DonutAgentSpawner",
    "FixedAgentSpawner",
    "GridAgentSpawner",
    "PointAgentSpawner",
    "UniformAgentSpawner",
    "UniformCircleAgentSpawner",
]
