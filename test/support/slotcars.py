"""Robots that follow paths as the slotcars of Open-RMF do."""

from __future__ import annotations

from typing import Any

import fleet_sim as fs


def spawn_slotcar(
    sim: fs.MultiRobotSimulationCore, name: str, x: float, y: float, radius: float, **params: Any
) -> fs.Agent:
    """Spawn a round robot with differential drive that reaches its speed quickly."""
    body = fs.ShapeParams("cylinder", radius=radius, height=0.4)
    params = {"max_linear_accel": 10.0, "max_angular_accel": 20.0, "motion_mode": "differential", **params}
    agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(body, body, fs.Pose((x, y, 0.2)), name=name, **params))
    return agent
