"""Robots with joints, put into a world by their columns alone."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.robots.agent import Agent
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.world import World


def add_robots(world: World, model: RobotModel, positions: Floats, orientations: Floats | None = None) -> Rows:
    """Add one robot of `model` per position (N, 3), standing upright unless told otherwise."""
    rows = world.allocate([None] * len(positions))
    world.kind[rows] = KIND_AGENT
    for row in rows.tolist():
        world.handles[row] = Agent.bind(world, row)
    if model not in world.models:
        world.models.append(model)
    world.robots.model[rows] = world.models.index(model)
    world.joints.assign(world.robots, rows, model)
    world.position[rows] = positions
    if orientations is not None:
        world.orientation[rows] = orientations
    world.announce(rows)
    return rows


def set_joints(world: World, rows: Rows, values: Floats) -> None:
    """Put the joints of `rows` (N,) at `values` (N, M)."""
    world.joints.position[world.joints.slots(world.robots, rows)] = np.asarray(values, float).reshape(-1)
    world.touch_joints(rows)
