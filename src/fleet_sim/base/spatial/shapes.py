"""Shape kinds, and the few numbers that describe a shape of any kind.

A shape in columns is `kind`, `half_extents` (3,) of its box in its own frame, and `radius`. With those:

- BOX: half extents; radius 0.
- SPHERE: radius r, half extents (r, r, r).
- CYLINDER: axis z, radius r, half extents (r, r, height / 2).
- CAPSULE: axis z, radius r, half extents (r, r, height / 2 + r); height is the cylindrical part alone.
- PLANE: the half-space below z = 0 of its frame; half extents and radius 0.
- MESH, COMPOUND: half extents of a box around it, centred on its position; radius 0.
- NONE: no shape; it has no contacts.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Rows


class ShapeKind(IntEnum):
    """The kind of a row's collision shape; a uint8 column stores the integer."""

    NONE = 0
    BOX = 1
    SPHERE = 2
    CYLINDER = 3
    CAPSULE = 4
    PLANE = 5
    MESH = 6
    COMPOUND = 7


ROUND_KINDS = (ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CAPSULE)
"""Shapes that have a radius, and are round about z."""


class ShapeArrays(NamedTuple):
    """The posed shapes of N rows: world poses of the shape centres and the numbers of this module.

    kinds (N,) integers; positions (N, 3) and orientations (N, 4) xyzw in the world; half_extents (N, 3);
    radii (N,).
    """

    kinds: AnyArray
    positions: Floats
    orientations: Floats
    half_extents: Floats
    radii: Floats

    def take(self, rows: Rows) -> ShapeArrays:
        """Return the shapes of `rows`, in that order, as copies."""
        return ShapeArrays(*(column.take(rows, axis=0) for column in self))

    def at(self, positions: Floats, orientations: Floats) -> ShapeArrays:
        """Return the same shapes at other poses."""
        return self._replace(positions=positions, orientations=orientations)


# How surfaces are turned where rays meet them. Components are computed one by one, so that a normal has the same bits
# alone and in company.


UPRIGHT = 1e-18
"""Square of the level part of a direction up to which a ray is parallel to the axis of a cylinder."""


def normals(kind: int, points: Floats, directions: Floats, half_extents: Floats, radii: Floats) -> Floats:
    """Return the outward normals (3, K) of shapes of one kind, in their frames, where rays met them at `points` (3, K).

    Anything but a sphere, a cylinder, a capsule and a plane counts as a box.
    """
    out = np.zeros_like(points)
    if kind == ShapeKind.PLANE:
        out[2] = -np.sign(directions[2])
        return out
    if kind in (ShapeKind.SPHERE, ShapeKind.CAPSULE):
        reach = half_extents[2] - radii
        out[:] = points / radii
        out[2] = (points[2] - np.minimum(np.maximum(points[2], -reach), reach)) / radii
        return out
    facing = -np.sign(directions)
    if kind == ShapeKind.CYLINDER:
        # Above a cap by more than beside the wall: what is met there is the cap.
        beside = np.sqrt(points[0] * points[0] + points[1] * points[1]) - radii
        cap_mask = (facing[2] != 0.0) & (np.abs(points[2]) - half_extents[2] >= beside)
        out[:2] = np.where(cap_mask, 0.0, points[:2] / radii)
        out[2] = np.where(cap_mask, facing[2], 0.0)
        return out
    # The side that the point is in, among those that the ray comes from.
    depths = np.where(facing * points > 0.0, np.abs(points) - half_extents, -np.inf)
    axis, places = depths.argmax(axis=0), np.arange(points.shape[1])
    out[axis, places] = facing[axis, places]
    return out


def hull_normals(points: Floats, directions: Floats, planes: Floats) -> Floats:
    """Return the normals (3, K) of the sides of a hull, as in `enter_hull`, that rays met at `points` (3, K)."""
    heights = _seen_from(points, planes) - planes[:, 3, None]
    sides = np.where(_seen_from(directions, planes) < 0.0, heights, -np.inf).argmax(axis=0)
    return np.ascontiguousarray(planes[sides, :3].T)


def _seen_from(vectors: Floats, planes: Floats) -> Floats:
    """Return the components (F, K) of `vectors` (3, K) along the normals of planes."""
    x, y, z = planes[:, 0, None], planes[:, 1, None], planes[:, 2, None]
    return np.asarray(vectors[0] * x + vectors[1] * y + vectors[2] * z)


# Lines between two points, seen from above.


def distances_to_lines(points: Floats, begins: Floats, ends: Floats) -> Floats:
    """Return the distances (K,) in m of `points` from the lines between `begins` and `ends`.

    All are (K, 2) or (K, 3), of which z does not count; lines may also be one for all points, (2,) or (3,).
    """
    along, off = (ends - begins)[..., :2], (points - begins)[:, :2]
    squares = np.square(along).sum(axis=-1)
    # A line of no length is its point.
    shares = np.clip((off * along).sum(axis=-1) / np.where(squares > 0.0, squares, 1.0), 0.0, 1.0)
    return np.asarray(np.linalg.norm(off - shares[:, None] * along, axis=1))
