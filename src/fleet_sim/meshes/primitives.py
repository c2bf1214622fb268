"""Meshes of boxes, spheres, cylinders, capsules and the floor; round ones in several levels of detail."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.meshes.mesh import Mesh, Part
from fleet_sim.spatial import trigonometry as trig

SEGMENTS = (8, 16, 24, 48, 96)
"""Sides of round solids, coarse to fine."""
_TOLERANCE = 0.25
"""Largest distance in pixels between a circle and the polygon inside it."""
LEVEL_RADII: Floats = np.array([_TOLERANCE / (1.0 - trig.sin_cos_of(math.pi / sides)[1]) for sides in SEGMENTS[:-1]])
"""Largest radius in pixels for which the level of detail with the same index is fine enough."""


def box() -> Mesh:
    """Return the box with half extents 1."""
    positions, normals = np.zeros((6, 4, 3)), np.zeros((6, 4, 3))
    for side in range(6):
        axis, sign = side // 2, 1.0 if side % 2 else -1.0
        u, v = (axis + 1) % 3, (axis + 2) % 3
        positions[side, :, axis] = normals[side, :, axis] = sign
        positions[side, :, u] = (-1.0, sign, 1.0, -sign)
        positions[side, :, v] = (-1.0, -sign, 1.0, sign)
    first = 4 * np.arange(6)[:, None]
    triangles = np.concatenate([first + (0, 1, 2), first + (0, 2, 3)])
    return Mesh((Part(positions.reshape(-1, 3), triangles, normals.reshape(-1, 3)),))


def sphere(level: int) -> Mesh:
    """Return the sphere of radius 1."""
    arc = _arc(level, -1, 1)
    return Mesh((_turned(arc, arc, SEGMENTS[level]),))


def capsule(level: int, radius: float, height: float) -> Mesh:
    """Return a capsule along z; `height` is that of the cylindrical part."""
    lower, upper = _arc(level, -1, 0), _arc(level, 0, 1)
    end = np.array([0.0, 0.5 * height])
    outline = np.concatenate([radius * lower - end, radius * upper + end])
    return Mesh((_turned(outline, np.concatenate([lower, upper]), SEGMENTS[level]),))


def cylinder(level: int) -> Mesh:
    """Return the cylinder of radius 1 along z from -1 to 1."""
    # Rims appear twice: once with the normal of the end, once with that of the side.
    outline = np.array([[0.0, -1.0], [1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    normals = np.array([[0.0, -1.0], [0.0, -1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    return Mesh((_turned(outline, normals, SEGMENTS[level]),))


def square() -> Mesh:
    """Return the square from -1 to 1 in the xy plane, facing up."""
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    return Mesh((Part(corners, np.array([(0, 1, 2), (0, 2, 3)]), np.array([[0.0, 0.0, 1.0]] * 4)),))


def _arc(level: int, first: int, last: int) -> Floats:
    """Return points (K, 2), distance from z and z, of the unit circle; -1, 0 and 1 are lower pole, equator, upper."""
    angles = np.linspace(0.5 * np.pi * first, 0.5 * np.pi * last, SEGMENTS[level] // 4 * (last - first) + 1)
    return np.column_stack(trig.sin_cos(angles)[::-1])


def _turned(outline: Floats, normals: Floats, sides: int) -> Part:
    """Return the surface with `sides` that `outline` (K, 2) makes when it turns around z."""
    # The last column of points repeats the first one.
    angles = 2.0 * np.pi * np.arange(sides + 1) / sides
    sines, cosines = trig.sin_cos(angles)
    rings = len(outline)
    points = _around(outline, cosines, sines)
    directions = _around(normals, cosines, sines)
    ring, side = np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij")
    lower = ring * (sides + 1) + side
    upper = lower + sides + 1
    quads = [np.stack([lower, lower + 1, upper + 1], -1), np.stack([lower, upper + 1, upper], -1)]
    triangles: Ints = np.concatenate(quads).reshape(-1, 3)
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    # At the poles, and between the two copies of a rim, quads have sides without length: triangles of no area.
    flat_mask = np.linalg.norm(np.cross(b - a, c - a), axis=1) < 1e-12
    return Part(points, triangles[~flat_mask], directions)


def _around(profile: Floats, cosines: Floats, sines: Floats) -> Floats:
    x = profile[:, :1] * cosines
    y = profile[:, :1] * sines
    return np.stack([x, y, np.broadcast_to(profile[:, 1:], x.shape)], -1).reshape(-1, 3)
