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

from fleet_sim.arrays import AnyArray, Floats, Rows


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


def box_half_extents(sizes: Floats) -> Floats:
    """Return half extents (N, 3) of boxes with full `sizes` (N, 3)."""
    return 0.5 * sizes


def sphere_half_extents(radii: Floats) -> Floats:
    """Return half extents (N, 3) of spheres with `radii` (N,)."""
    return _round_half_extents(radii, radii)


def cylinder_half_extents(radii: Floats, heights: Floats) -> Floats:
    """Return half extents (N, 3) of cylinders along z with `radii` and full `heights` (N,)."""
    return _round_half_extents(radii, 0.5 * heights)


def capsule_half_extents(radii: Floats, heights: Floats) -> Floats:
    """Return half extents (N, 3) of capsules along z; `heights` (N,) are without the two round ends."""
    return _round_half_extents(radii, 0.5 * heights + radii)


def _round_half_extents(radii: Floats, half_heights: Floats) -> Floats:
    out = np.empty((len(radii), 3))
    out[:, 0] = radii
    out[:, 1] = radii
    out[:, 2] = half_heights
    return out
