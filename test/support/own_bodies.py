"""Bodies of users who call PyBullet themselves, and a robot beside them."""

from __future__ import annotations

from typing import Any

import pybullet

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))


def ball(sim: Sim, position: Any = (0, 0, 2), mass: float = 1.0) -> int:
    """Return a body of the user's own."""
    shape = sim.bullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.2)
    return int(sim.bullet.createMultiBody(mass, shape, basePosition=position))


def drive(sim: Sim) -> Any:
    """Spawn a box that drives ahead."""
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX))
    robot.set_goal_pose(fs.Pose((5, 0, 0)))
    return robot
