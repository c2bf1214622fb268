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
