"""The room that a robot takes on the floor."""

from __future__ import annotations

from itertools import product

import numpy as np

from fleet_sim.core.world import World
from fleet_sim.entities.attachments import children_of
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.shapes import ShapeKind

_CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
_ROUND = (ShapeKind.CYLINDER, ShapeKind.CAPSULE)
_SHAPELESS = (ShapeKind.NONE, ShapeKind.PLANE)


def footprint_radius(world: World, row: int) -> float:
    """Return the radius (m) of the disc about the robot's position that holds it and all that it carries.

    It does so however the robot turns about the vertical axis; 0 for a robot without a collision shape.
    """
    rows = np.array([row])
    group = [row]
    # What is carried may carry something itself.
    while len(rows := children_of(world, rows)):
        group += rows.tolist()
    return max(_reach(world, member, world.position[row]) for member in group)


def _reach(world: World, row: int, middle: np.ndarray) -> float:
    """Return how far (m) the shape of `row` is from the vertical axis through `middle` (3,), at its farthest point."""
    kind = world.shape_kind[row]
    if kind in _SHAPELESS:
        return 0.0
    orientation = world.orientation[row][None]
    offset = world.position[row] + quaternions.rotate(orientation, world.shape_position[row][None])[0] - middle
    orientation = quaternions.multiply(orientation, world.shape_orientation[row][None])
    upright = abs(quaternions.rotate(orientation, np.array([[0.0, 0.0, 1.0]]))[0, 2]) > 1.0 - 1e-9
    # Tilted cylinders and capsules count as the boxes around them: a little too large is safe.
    if kind == ShapeKind.SPHERE or (kind in _ROUND and upright):
        return trig.hypot_of(float(offset[0]), float(offset[1])) + float(world.radius[row])
    corners = offset + quaternions.rotate(np.repeat(orientation, 8, axis=0), _CORNERS * world.half_extents[row])
    return float(trig.hypot(corners[:, 0], corners[:, 1]).max())
