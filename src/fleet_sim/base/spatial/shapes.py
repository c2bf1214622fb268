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

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Rows
from fleet_sim.base.spatial.quaternions import dot


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


# Where rays enter convex shapes, in closed form, in the frames of the shapes. All `enter` functions take `origins`
# (3, K) and unit `directions` (3, K) and return ranges (K,), infinite for misses. A ray that begins inside a shape
# does not meet it. `normals` tells how surfaces are turned where they are met. Components are computed one by one, so
# that a ray ends at the same bits alone and in company, and by `sensors.compiled_shapes`.


UPRIGHT = 1e-18
"""Square of the level part of a direction up to which a ray is parallel to the axis of a cylinder."""


def enter_boxes(origins: Floats, directions: Floats, half_extents: Floats) -> Floats:
    """Return where rays enter boxes with `half_extents` (3, K)."""
    sides = np.sign(directions) * half_extents
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = (-sides - origins) / directions, (sides - origins) / directions
    # Along an axis in which a ray does not move it is inside the slab forever or never.
    still_mask = directions == 0.0
    near[still_mask] = np.where(np.abs(origins) > half_extents, np.inf, -np.inf)[still_mask]
    far[still_mask] = np.inf
    into = near.max(axis=0)
    return _entered(into, (into > far.min(axis=0)) | (into < 0.0))


def enter_spheres(origins: Floats, directions: Floats, radii: Floats) -> Floats:
    """Return where rays enter spheres with `radii` (K,)."""
    along, beyond = dot(origins, directions), dot(origins, origins) - radii * radii
    square = along * along - beyond
    ranges = -along - np.sqrt(np.maximum(square, 0.0))
    return _entered(ranges, (square < 0.0) | (ranges < 0.0) | (beyond <= 0.0))


def enter_cylinders(origins: Floats, directions: Floats, radii: Floats, halves: Floats) -> Floats:
    """Return where rays enter cylinders about z with `radii` (K,), from -`halves` to `halves` (K,)."""
    missed_mask, into, out = _side(origins, directions, radii)
    z, rise = origins[2], directions[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (-halves - z) / rise, (halves - z) / rise
    level_mask = rise == 0.0
    low = np.where(level_mask, np.where(np.abs(z) <= halves, -np.inf, np.inf), np.minimum(one, other))
    high = np.where(level_mask, np.inf, np.maximum(one, other))
    ranges = np.maximum(into, low)
    return _entered(ranges, missed_mask | (ranges > np.minimum(out, high)) | (ranges < 0.0))


def enter_capsules(origins: Floats, directions: Floats, radii: Floats, reach: Floats) -> Floats:
    """Return where rays enter capsules about z with `radii` (K,), whose axes go from -`reach` to `reach` (K,)."""
    missed_mask, into, _ = _side(origins, directions, radii)
    height = origins[2] + np.where(np.isfinite(into), into, 0.0) * directions[2]
    ranges = _entered(into, missed_mask | (np.abs(height) > reach) | (into < 0.0) | ~np.isfinite(into))
    moved = origins.copy()
    for end in (-reach, reach):
        moved[2] = origins[2] - end
        ranges = np.minimum(ranges, enter_spheres(moved, directions, radii))
    # From inside of one part a ray may enter another one.
    moved[2] = origins[2] - np.minimum(np.maximum(origins[2], -reach), reach)
    return _entered(ranges, dot(moved, moved) <= radii * radii)


def meet_planes(origins: Floats, directions: Floats) -> Floats:
    """Return where rays meet the planes z = 0, from either side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ranges = -origins[2] / directions[2]
    return _entered(ranges, ~(ranges >= 0.0) | (origins[2] == 0.0))


def enter_hull(origins: Floats, directions: Floats, planes: Floats) -> Floats:
    """Return where rays enter the convex body behind `planes` (F, 4): unit normals and offsets."""
    heights, closing = _seen_from(origins, planes) - planes[:, 3, None], _seen_from(directions, planes)
    with np.errstate(divide="ignore", invalid="ignore"):
        ranges = -heights / closing
    into = np.where(closing < 0.0, ranges, -np.inf).max(axis=0)
    out = np.where(closing > 0.0, ranges, np.inf).min(axis=0)
    beside_mask = ((closing == 0.0) & (heights > 0.0)).any(axis=0)
    return _entered(into, beside_mask | (into > out) | (into < 0.0))


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


def _side(origins: Floats, directions: Floats, radii: Floats) -> tuple[Bools, Floats, Floats]:
    """Return which rays miss the infinite cylinder about z, and where the others enter and leave it."""
    (x, y, _), (across, deep, _) = origins, directions
    square = across * across + deep * deep
    along, beyond = x * across + y * deep, x * x + y * y - radii * radii
    upright_mask = square < UPRIGHT
    square = np.where(upright_mask, 1.0, square)
    root = along * along - square * beyond
    missed_mask = np.where(upright_mask, beyond > 0.0, root < 0.0)
    half = np.sqrt(np.maximum(root, 0.0))
    into = np.where(upright_mask, -np.inf, (-along - half) / square)
    out = np.where(upright_mask, np.inf, (-along + half) / square)
    return missed_mask, into, out


def _entered(ranges: Floats, missed_mask: Bools) -> Floats:
    # Adding 0 makes a range of -0 one of 0.
    return np.where(missed_mask, np.inf, ranges) + 0.0


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
