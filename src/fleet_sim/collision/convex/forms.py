"""What entities are made of: the pieces of robots link by link, of meshes as hulls, of plain shapes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.collision.convex.hulls import mesh_corners, prism_corners
from fleet_sim.collision.convex.tables import BALL, BOX, CYLINDER, HULL, PLANE, SEGMENT, SURFACE
from fleet_sim.core.robot_model import BASE, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.kinematics.tree import tree_of
from fleet_sim.meshes.triangles import triangles_of
from fleet_sim.spatial import poses, quaternions
from fleet_sim.spatial.shapes import ShapeKind
from fleet_sim.spatial.triangle_tree import TriangleTree

_MARGIN = 1e-3
"""The collision margin in m that PyBullet gives to shapes: hulls grow by it, boxes and cylinders are rounded."""
_MJCF, _MJCF_MARGIN, _MJCF_SHARE = (".xml", ".mjcf"), 0.04, 0.1
"""In MJCF files boxes and cylinders have Bullet's own margin: 4 cm, at most a tenth of the smallest half extent."""


class Piece(NamedTuple):
    """One row of `Pieces`; `corners` (K, 3) of a hull or a surface, `tree` (B, 6) and `leaf` of a surface."""

    kind: int
    link: int
    body: int
    pose: Floats
    box: Floats
    sizes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inner: float = 0.0
    outer: float = 0.0
    corners: Floats = np.empty((0, 3))
    tree: Floats = np.empty((0, 6))
    leaf: int = 0


def model_pieces(model: RobotModel) -> list[Piece]:
    """Return the collision shapes of a robot; raises InvalidValueError for an unusable mesh."""
    tree = tree_of(model)
    mjcf = Path(model.path).suffix.lower() in _MJCF
    pieces = []
    for link, geometry in ((part.link, part.geometry) for part in model.collisions):
        place = poses.compose(
            tree.link_position[[link]],
            tree.link_orientation[[link]],
            np.array([geometry.position]),
            np.array([geometry.orientation]),
        )
        shape = _mjcf_piece(geometry) if mjcf else _piece(geometry, prism=True)
        pieces.append(shape._replace(link=link, body=int(tree.link_body[link]), pose=_pose(*place)))
    return pieces


def shape_pieces(geometry: Geometry) -> list[Piece]:
    """Return the one piece of a body with a single shape; raises InvalidValueError for an unusable mesh."""
    place = np.array([geometry.position]), np.array([geometry.orientation])
    return [_piece(geometry, prism=False)._replace(pose=_pose(*place))]


def _pose(positions: Floats, orientations: Floats) -> Floats:
    return np.concatenate((quaternions.to_matrices(orientations)[0].reshape(9), positions[0]))


def _piece(geometry: Geometry, *, prism: bool) -> Piece:
    """Return a geometry as createCollisionShape makes it, with `prism` as robot descriptions have it."""
    kind, radius, half_height = geometry.kind, geometry.radius, 0.5 * geometry.height
    if kind == ShapeKind.BOX:
        return _rounded(BOX, geometry.half_extents, _MARGIN)
    if kind == ShapeKind.CYLINDER and not prism:
        return _rounded(CYLINDER, (radius, radius, half_height), _MARGIN)
    if kind == ShapeKind.CYLINDER:
        return _hull(prism_corners(radius, geometry.height))
    if kind == ShapeKind.SPHERE:
        return _new(BALL, (radius, radius, radius))._replace(outer=radius)
    if kind == ShapeKind.CAPSULE:
        long = _new(SEGMENT, (radius, radius, half_height + radius))
        # A ball that is moved along a segment: the radius is its margin.
        return long._replace(sizes=(0.0, 0.0, half_height), outer=radius)
    if kind == ShapeKind.PLANE:
        return _new(PLANE, (0.0, 0.0, 0.0))
    if geometry.concave:
        # In robot descriptions concave meshes have no margin.
        return _surface(geometry, 0.0 if prism else _MARGIN)
    return _hull(mesh_corners(geometry))


def _mjcf_piece(geometry: Geometry) -> Piece:
    if geometry.kind not in (ShapeKind.BOX, ShapeKind.CYLINDER):
        return _piece(geometry, prism=True)
    radius = geometry.radius
    box = geometry.kind == ShapeKind.BOX
    half = geometry.half_extents if box else (radius, radius, 0.5 * geometry.height)
    return _rounded(BOX if box else CYLINDER, half, min(_MJCF_MARGIN, _MJCF_SHARE * min(half)))


def _new(kind: int, half: Iterable[float]) -> Piece:
    """Return a piece of `kind` in the middle of a box with the half extents `half`."""
    return Piece(kind, BASE, BASE, np.zeros(12), np.array([0.0, 0.0, 0.0, *half]))


def _rounded(kind: int, half: tuple[float, float, float], margin: float) -> Piece:
    # What is thinner than the margin is all edge.
    margin = min(margin, *half)
    # PyBullet takes the margin off these shapes and rounds their edges with it.
    x, y, z = (size - margin for size in half)
    return _new(kind, half)._replace(sizes=(x, y, z), inner=margin)


def _hull(corners: Floats) -> Piece:
    return _enclosing(HULL, corners, _MARGIN)._replace(outer=_MARGIN)


def _enclosing(kind: int, corners: Floats, margin: float) -> Piece:
    low, high = corners.min(axis=0), corners.max(axis=0)
    box = np.concatenate((0.5 * (low + high), 0.5 * (high - low) + margin))
    return _new(kind, (0.0, 0.0, 0.0))._replace(corners=corners, box=box)


def _surface(geometry: Geometry, margin: float) -> Piece:
    tree = TriangleTree(triangles_of(geometry).corners).flat()
    piece = _enclosing(SURFACE, np.ascontiguousarray(tree.corners.reshape(-1, 3)), margin)
    return piece._replace(outer=margin, tree=tree.boxes, leaf=tree.leaf)


def plain_pieces(kind: int, half_extents: Floats, radius: float, position: Floats, orientation: Floats) -> list[Piece]:
    """Return the one piece, if any, of a body that only the columns of the world describe."""
    if kind == ShapeKind.NONE:
        return []
    x, y, z = half_extents.tolist()
    # Columns have the half height with the caps, a Geometry the height without.
    height = 2.0 * z - (2.0 * radius if kind == ShapeKind.CAPSULE else 0.0)
    geometry = Geometry(kind, half_extents=(x, y, z), radius=radius, height=height)
    return [_piece(geometry, prism=False)._replace(pose=_pose(position[None], orientation[None]))]
