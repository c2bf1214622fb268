"""Bounding boxes of robots at their present joint values, in the frames of their bases; many robots at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.forward import ORIGIN, Forward
from fleet_sim.kinematics.tree import tree_of
from fleet_sim.meshes.loading import mesh_extents
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.shapes import ShapeKind, capsule_half_extents, cylinder_half_extents, sphere_half_extents

CHUNK = 256
"""Robots computed at once, few enough that the temporary arrays stay in the processor's cache."""


class BodyBoxes(NamedTuple):
    """G boxes, each part of a body: centres (3, G) in the frame of the body, and half axes (3, 3, G), in columns."""

    bodies: Ints
    centres: Floats
    half_axes: Floats


def robot_boxes(boxes: BodyBoxes, frames: Floats) -> tuple[Floats, Floats]:
    """Return centres and half extents, (N, 3) and (N, 3), of the boxes around robots in the frames of their bases.

    `frames` (3, 4, B + 1, N) are those of all bodies, see `Forward`. Without collision shapes a box has size 0.
    """
    count = frames.shape[3]
    centres, halves = np.zeros((count, 3)), np.zeros((count, 3))
    if not len(boxes.bodies):
        return centres, halves
    for start in range(0, count, CHUNK):
        part = slice(start, min(start + CHUNK, count))
        chosen = frames[:, :, boxes.bodies, part]
        axes, origins = chosen[:, :ORIGIN], chosen[:, ORIGIN]
        centre, extent = origins.copy(), np.zeros(origins.shape)
        for axis in range(3):
            centre += axes[:, axis] * boxes.centres[axis][:, None]
            side = axes[:, 0] * boxes.half_axes[0, axis][:, None]
            side += axes[:, 1] * boxes.half_axes[1, axis][:, None]
            side += axes[:, 2] * boxes.half_axes[2, axis][:, None]
            # The extent of a rotated box along an axis is the sum of its half axes' absolute components.
            extent += np.abs(side)
        lower, upper = (centre - extent).min(axis=1).T, (centre + extent).max(axis=1).T
        centres[part], halves[part] = 0.5 * (lower + upper), 0.5 * (upper - lower)
    return centres, halves


def model_box(model: RobotModel, values: Floats) -> tuple[Floats, Floats]:
    """Return centre and half extents, (3,) and (3,), of the box around a robot with joint values (M,)."""
    frames = Forward(tree_of(model)).frames(values[None])
    centre, half = robot_boxes(body_boxes(model), frames)
    return centre[0], half[0]


@lru_cache(maxsize=256)
def body_boxes(model: RobotModel) -> BodyBoxes:
    """Return the boxes of the collision shapes of `model`; raises InvalidValueError for unusable meshes and planes."""
    tree, count = tree_of(model), len(model.collisions)
    bodies, centres, half_axes = np.zeros(count, np.int64), np.zeros((3, count)), np.zeros((3, 3, count))
    for index, (link, geometry) in enumerate((part.link, part.geometry) for part in model.collisions):
        offset, half = _box(geometry)
        position, orientation = poses.compose(
            tree.link_position[[link]],
            tree.link_orientation[[link]],
            np.array([geometry.position]),
            np.array([geometry.orientation]),
        )
        axes = quaternions.to_matrices(orientation)[0]
        # The columns are the half axes: the box's axes in the body's frame, each as long as half the box.
        bodies[index] = tree.link_body[link]
        centres[:, index] = position[0] + quaternions.rotate(orientation, offset[None])[0]
        half_axes[:, :, index] = axes * half
    return BodyBoxes(bodies, centres, half_axes)


def mesh_box(geometry: Geometry) -> tuple[Floats, Floats]:
    """Return centre (3,), in the body frame, and half extents (3,) of the box around a mesh.

    The box has the orientation of the geometry. Raises InvalidValueError for a file that cannot be read.
    """
    offset, half = _mesh_box(geometry)
    turned = quaternions.rotate(np.array([geometry.orientation]), offset[None])[0]
    return np.asarray(geometry.position + turned), half


def _mesh_box(geometry: Geometry) -> tuple[Floats, Floats]:
    corners = np.array(mesh_extents(geometry.mesh_path)) * geometry.mesh_scale
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    return 0.5 * (lower + upper), 0.5 * (upper - lower)


def _box(geometry: Geometry) -> tuple[Floats, Floats]:
    """Return centre and half extents of the box around a geometry, in its own frame."""
    kind, radius, height = geometry.kind, np.array([geometry.radius]), np.array([geometry.height])
    centre = np.zeros(3)
    if kind == ShapeKind.BOX:
        return centre, np.array(geometry.half_extents)
    if kind == ShapeKind.SPHERE:
        return centre, sphere_half_extents(radius)[0]
    if kind == ShapeKind.CYLINDER:
        return centre, cylinder_half_extents(radius, height)[0]
    if kind == ShapeKind.CAPSULE:
        return centre, capsule_half_extents(radius, height)[0]
    if kind == ShapeKind.MESH:
        return _mesh_box(geometry)
    raise InvalidValueError("a plane is unbounded and has no box; robots collide with finite shapes")
