"""What is in the way of leaves that close."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.collision.bounds import active_mask, shape_arrays, world_aabbs
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.equipment.door_columns import DoorColumns
from fleet_sim.equipment.fittings import fittings_mask
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.shapes import ShapeArrays

STATIC = CollisionMode.STATIC.code
ROOM = 0.02
"""A body this near in m to the way of a leaf is in its way."""


def obstructed_mask(world: World, table: DoorColumns, leaves: Rows) -> Bools:
    """Return which of `leaves` (L,) have a body in the area that they sweep to close.

    Bodies count by their boxes; static ones and parts of doors and lifts never count. A swinging leaf sweeps the square
    that has it as a side, from its hinge on.
    """
    obstructed: Bools = np.zeros(len(leaves), np.bool_)
    mask = active_mask(world) & ~fittings_mask(world) & (world.collision_mode != STATIC) & (world.parent == NO_ROW)
    bodies = np.flatnonzero(mask)
    if not len(bodies):
        return obstructed
    lower, upper = world_aabbs(*shape_arrays(world, bodies), compiled=world.compiled)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    for index, leaf in enumerate(leaves.tolist()):
        place, sides, height = _swept(world, table, leaf)
        near = np.abs(middle - place)
        tall_mask = near[:, 2] < half[:, 2] + height
        sine, cosine = trig.sin_cos_of(float(table.closed_yaw[leaf]))
        x, y = middle[:, 0] - place[0], middle[:, 1] - place[1]
        along, across = np.abs(x * cosine + y * sine), np.abs(y * cosine - x * sine)
        # A body turned into the frame of the leaf takes at most this much of its axes.
        wide = half[:, 0] * abs(cosine) + half[:, 1] * abs(sine)
        deep = half[:, 0] * abs(sine) + half[:, 1] * abs(cosine)
        hit = tall_mask & (along < sides[0] + wide + ROOM) & (across < sides[1] + deep + ROOM)
        obstructed[index] = bool(hit.any())
    return obstructed


def _swept(world: World, table: DoorColumns, leaf: int) -> tuple[Floats, tuple[float, float], float]:
    """Return middle (3,), half sides along and across the closed leaf, and half height of what it sweeps, in m."""
    length, width, height = world.half_extents[leaf].tolist()
    place = table.closed_position[leaf].copy()
    swing = float(table.swing[leaf])
    if swing == 0.0:
        return place, (length, width), height
    sine, cosine = trig.sin_cos_of(float(table.closed_yaw[leaf]))
    # It turns to the left of its x axis where its hinge is behind it and the turn is positive.
    side = (1.0 if swing > 0.0 else -1.0) * (-1.0 if table.hinge[leaf] > 0.0 else 1.0)
    place[0] -= side * length * sine
    place[1] += side * length * cosine
    return place, (length, length + width), height


def near_mask(shapes: ShapeArrays, points: Floats, radius: float) -> Bools:
    """Return which `points` (N, 2) are nearer than `radius` m to one of the upright boxes `shapes`, seen from above."""
    near: Bools = np.zeros(len(points), np.bool_)
    lower, upper = world_aabbs(*shapes)
    yaws = quaternions.yaws(shapes.orientations)
    for index in range(len(shapes.kinds)):
        around = (points > lower[index, :2] - radius) & (points < upper[index, :2] + radius)
        close = np.flatnonzero(around.all(axis=1))
        x, y = (points[close] - shapes.positions[index, :2]).T
        sine, cosine = trig.sin_cos_of(float(yaws[index]))
        along, across = np.abs(x * cosine + y * sine), np.abs(y * cosine - x * sine)
        half = shapes.half_extents[index]
        gaps = np.maximum(along - half[0], 0.0) ** 2 + np.maximum(across - half[1], 0.0) ** 2
        near[close] |= gaps < radius * radius
    return near
