"""Boxes and robots that meet, and which of them touch."""

from __future__ import annotations

from typing import Any

import fleet_sim as fs

BOX = fs.ShapeParams("box", half_extents=(0.25, 0.25, 0.25))


def put(sim: fs.MultiRobotSimulationCore, name: str, x: float, z: float = 0.25, **params: Any) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((x, 0.0, z)), name=name, **params))


def robot(sim: fs.MultiRobotSimulationCore, name: str, x: float, **params: Any) -> fs.Agent:
    agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(BOX, BOX, fs.Pose((x, 0.0, 0.25)), name=name, **params))
    return agent


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def touching(sim: fs.MultiRobotSimulationCore) -> set[frozenset[str | None]]:
    return {frozenset((a.name, b.name)) for a, b in sim.get_active_collision_pairs()}


def pair(*names: str) -> set[frozenset[str | None]]:
    return {frozenset(names)}
