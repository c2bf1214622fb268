"""Robots, walls and loads that are boxes, and distances of their outlines by brute force, for tests of blocking."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import fleet_sim as fs

Floats = npt.NDArray[np.float64]
BASE, HEIGHT = (0.31, 0.22), 0.1
CARGO = (0.12, 0.27)


def box(x: float, y: float, z: float = HEIGHT) -> fs.ShapeParams:
    return fs.ShapeParams("box", half_extents=(x, y, z))


def build(step: float = 0.05, **settings: Any) -> fs.MultiRobotSimulationCore:
    given = {"gui": False, "timestep": step, "target_rtf": 0, "block_on_collision": True}
    return fs.MultiRobotSimulationCore(fs.SimulationParams(**{**given, **settings}))


def robot(sim: fs.MultiRobotSimulationCore, x: float, y: float, yaw: float, **settings: Any) -> fs.Agent:
    given = {"motion_mode": "omnidirectional", "max_linear_vel": 0.9, "max_linear_accel": 0.7, "name": "amr"}
    pose = fs.Pose.from_yaw(x, y, HEIGHT, yaw=yaw)
    agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(box(*BASE), box(*BASE), pose, **{**given, **settings}))
    return agent


def wall(
    sim: fs.MultiRobotSimulationCore, x: float, y: float, yaw: float, half: tuple[float, float], **more: Any
) -> Any:
    given = {"name": "wall", "collision_mode": "static", "pickable": False}
    pose = fs.Pose.from_yaw(x, y, 0.4, yaw=yaw)
    return sim.spawn(fs.SimObjectSpawnParams(box(*half, 0.4), box(*half, 0.4), pose, **{**given, **more}))


def load(sim: fs.MultiRobotSimulationCore, carrier: fs.Agent, x: float, y: float, yaw: float) -> Any:
    crate = sim.spawn(fs.SimObjectSpawnParams(box(*CARGO, 0.05), box(*CARGO, 0.05), fs.Pose((0, 0, 5)), name="crate"))
    carrier.attach_object(crate, relative_pose=fs.Pose.from_yaw(x, y, 0.02, yaw=yaw))
    return crate


# ---- brute force: distances of rectangles seen from above ------------------------------------------------------------


def corners(place: tuple[float, float, float], half: tuple[float, float]) -> Floats:
    x, y, yaw = place
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    signs = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)], float)
    return (signs * half) @ turn.T + (x, y)


def gap(one: Floats, other: Floats) -> float:
    """Return the distance of two convex outlines; negative: how deep they are in each other along their normals."""
    deepest = -math.inf
    for outline in (one, other):
        edges = np.roll(outline, -1, axis=0) - outline
        normals = np.stack((edges[:, 1], -edges[:, 0]), axis=1) / np.linalg.norm(edges, axis=1)[:, None]
        rest = other if outline is one else one
        deepest = max(deepest, float(((rest[None] - outline[:, None]) @ normals[:, :, None])[..., 0].min(axis=1).max()))
    if deepest <= 0.0:
        return deepest
    return min(_nearest(one, other), _nearest(other, one))


def _nearest(points: Floats, outline: Floats) -> float:
    best = math.inf
    for begin, end in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        way = end - begin
        shares = np.clip(((points - begin) @ way) / (way @ way), 0.0, 1.0)
        best = min(best, float(np.linalg.norm(points - begin - shares[:, None] * way, axis=1).min()))
    return best


def outline(entity: Any, half: tuple[float, float]) -> Floats:
    pose = entity.get_pose()
    return corners((pose.x, pose.y, pose.yaw), half)
