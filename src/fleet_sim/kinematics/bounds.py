"""Bounding boxes of robots at their present joint values, in the frames of their bases; many robots at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.robot_model import BASE, REVOLUTE, RobotModel
from fleet_sim.core.shapes import Geometry, half_extents_of
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.forward import ORIGIN, Forward
from fleet_sim.kinematics.tree import Tree, tree_of
from fleet_sim.meshes.loading import mesh_extents
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.shapes import ROUND_KINDS, ShapeKind

CHUNK = 256
"""Robots computed at once, few enough that the temporary arrays stay in the processor's cache."""
ROUND = 1e-6
"""How far a round shape may be off its axis, by its radius, and lean, in rad: files round their numbers."""

_UP = np.array([[0.0, 0.0, 1.0]])


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
    # In pieces that stay in the cache.
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
        # The columns are the half axes: the box's axes in the body's frame, each as long as half the box.
        body, axes = int(tree.link_body[link]), quaternions.to_matrices(orientation)[0] * half
        centre = position[0] + quaternions.rotate(orientation, offset[None])[0]
        if body != BASE and _is_round(tree, link, geometry):
            # A wheel fills the same room however it is turned: its box is part of what carries it.
            frame = tree.still[:, :, body, 0] + tree.cosine[:, :, body, 0]
            x, y, z, origin = frame.T
            centre = x * centre[0] + y * centre[1] + z * centre[2] + origin
            axes = x[:, None] * axes[0] + y[:, None] * axes[1] + z[:, None] * axes[2]
            body = int(tree.parents[body])
        bodies[index], centres[:, index], half_axes[:, :, index] = body, centre, axes
    return BodyBoxes(bodies, centres, half_axes)


def round_mask(model: RobotModel) -> Bools:
    """Return which joints (J,) turn nothing but what is round about their axis: turning them changes no outline."""
    tree = tree_of(model)
    # A joint that turns anything else than round shapes changes the outline.
    mask = model.joint_types == REVOLUTE
    for part in model.collisions:
        body = int(tree.link_body[part.link])
        if body != BASE and not _is_round(tree, part.link, part.geometry):
            mask[model.movable[tree.slots[body]]] = False
    # What is below another joint is moved about with it.
    for body in tree.parents[tree.parents != BASE].tolist():
        mask[model.movable[tree.slots[body]]] = False
    return np.asarray(mask)


def _is_round(tree: Tree, link: int, geometry: Geometry) -> bool:
    """Return whether a shape is round about the axis of the joint that moves its body, which is not the base."""
    body = int(tree.link_body[link])
    if geometry.kind not in ROUND_KINDS or not tree.turning[body, 0]:
        return False
    position, orientation = poses.compose(
        tree.link_position[[link]],
        tree.link_orientation[[link]],
        np.array([geometry.position]),
        np.array([geometry.orientation]),
    )
    # The joint turns about the origin of its body: the shape has to be on that axis, and along it.
    axis = tree.axis[:, body, 0]
    off = np.abs(np.cross(axis, position[0])).max()
    lean = np.abs(np.cross(axis, quaternions.rotate(orientation, _UP)[0])).max()
    return bool(off <= ROUND * geometry.radius and (geometry.kind == ShapeKind.SPHERE or lean <= ROUND))


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
    if geometry.kind == ShapeKind.MESH:
        return _mesh_box(geometry)
    if geometry.kind == ShapeKind.PLANE:
        raise InvalidValueError("a plane is unbounded and has no box; robots collide with finite shapes")
    return np.zeros(3), np.array(half_extents_of(geometry))
