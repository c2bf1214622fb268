"""World AABBs of posed shapes.

Only additions, products, square roots and comparisons of single components are used, so the result of a row is the same
bit for bit, whatever rows are computed with it.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, Rows
from fleet_sim.spatial.shapes import ROUND_KINDS, ShapeKind

_BOX = np.uint8(ShapeKind.BOX)
_PLANE = np.uint8(ShapeKind.PLANE)


def world_aabbs(
    kinds: AnyArray, positions: Floats, orientations: Floats, half_extents: Floats, radii: Floats
) -> tuple[Floats, Floats]:
    """Return the corners (lower, upper), (N, 3) each, of the world boxes around N shapes.

    The boxes are tight for boxes, spheres, cylinders and capsules; for meshes and compounds they contain the rotated
    bounding box of the shape. A level plane is infinite sideways and below and ends at its own height; a tilted plane
    is infinite in all directions. A row without a shape is a point at its position. The arguments are the columns of
    `ShapeArrays`.
    """
    count = len(kinds)
    x, y, z, w = np.ascontiguousarray(orientations.T)
    reach = _yaw_reach(z, w, half_extents) if not (x.any() or y.any()) else _box_reach(x, y, z, w, half_extents)
    if count and (kinds != _BOX).any():
        for kind in (*ROUND_KINDS, ShapeKind.PLANE):
            rows = np.flatnonzero(kinds == kind)
            if len(rows):
                _round_reach(kind, rows, (x, y, z, w), half_extents, radii, reach)
        reach[:, kinds == ShapeKind.NONE] = 0.0
    lower, upper = np.empty((count, 3)), np.empty((count, 3))
    for axis in range(3):
        np.subtract(positions[:, axis], reach[axis], out=lower[:, axis])
        np.add(positions[:, axis], reach[axis], out=upper[:, axis])
    planes = np.flatnonzero(kinds == _PLANE)
    if len(planes):
        level = planes[(x[planes] == 0.0) & (y[planes] == 0.0)]
        upper[level, 2] = positions[level, 2]
    return lower, upper


def _yaw_reach(z: Floats, w: Floats, half: Floats) -> Floats:
    """Return the reach (3, N) of boxes rotated about z only, bit for bit as `_box_reach` does."""
    reach = np.empty((3, len(half)))
    if not z.any():
        reach[:] = half.T
        return reach
    cosine = np.abs(1.0 - 2.0 * (z * z))
    sine = np.abs(2.0 * (z * w))
    np.add(cosine * half[:, 0], sine * half[:, 1], out=reach[0])
    np.add(sine * half[:, 0], cosine * half[:, 1], out=reach[1])
    reach[2] = half[:, 2]
    return reach


def _box_reach(x: Floats, y: Floats, z: Floats, w: Floats, half: Floats) -> Floats:
    """Return how far (3, N) rotated boxes reach from their centres along the world axes."""
    # |R| times the half extents, with the rotation matrix R of the quaternion written out.
    hx, hy, hz = np.ascontiguousarray(half.T)
    reach = np.empty((3, len(half)))
    reach[0] = np.abs(1.0 - 2.0 * (y * y + z * z)) * hx + np.abs(2.0 * (x * y - z * w)) * hy
    reach[0] += np.abs(2.0 * (x * z + y * w)) * hz
    reach[1] = np.abs(2.0 * (x * y + z * w)) * hx + np.abs(1.0 - 2.0 * (x * x + z * z)) * hy
    reach[1] += np.abs(2.0 * (y * z - x * w)) * hz
    reach[2] = np.abs(2.0 * (x * z - y * w)) * hx + np.abs(2.0 * (y * z + x * w)) * hy
    reach[2] += np.abs(1.0 - 2.0 * (x * x + y * y)) * hz
    return reach


def _round_reach(
    kind: ShapeKind,
    rows: Rows,
    quaternions: tuple[Floats, Floats, Floats, Floats],
    half_extents: Floats,
    radii: Floats,
    reach: Floats,
) -> None:
    """Write the reach of `rows`, all of one round `kind`, into `reach` (3, N)."""
    if kind == ShapeKind.PLANE:
        reach[:, rows] = np.inf
        return
    radius = radii[rows]
    if kind == ShapeKind.SPHERE:
        reach[:, rows] = radius
        return
    x, y, z, w = (part[rows] for part in quaternions)
    axis = (2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y))
    half_height = half_extents[rows, 2]
    if kind == ShapeKind.CAPSULE:
        half_height = half_height - radius
    for component in range(3):
        along = np.abs(axis[component])
        if kind == ShapeKind.CYLINDER:
            # A disc reaches radius * sin(angle) along an axis at `angle` to its normal.
            across = np.sqrt(np.maximum(1.0 - along * along, 0.0))
            reach[component, rows] = along * half_height + across * radius
        else:
            reach[component, rows] = along * half_height + radius
