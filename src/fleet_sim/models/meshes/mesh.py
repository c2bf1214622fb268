"""Triangle meshes: returned by readers of mesh files, used by boxes, lidars and cameras."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.spatial import trigonometry as trig

# Normals for triangles without normals: smooth, except at sharp edges.


CREASE = trig.sin_cos_of(math.radians(40.0))[1]
"""Cosine of the angle between two faces above which the edge between them is sharp."""
_LARGEST_SMOOTHED = 200_000
"""In triangles. Larger meshes are drawn with flat shading, as smoothing them would block cameras for seconds."""


def corner_normals(positions: Floats, triangles: Ints) -> Floats:
    """Return a unit normal (3T, 3) per corner of `triangles` (T, 3), whose vertices are at `positions` (V, 3)."""
    normals = face_normals(positions, triangles)
    if len(triangles) > _LARGEST_SMOOTHED:
        return units(np.repeat(normals, 3, axis=0))
    return units(smooth(positions[triangles.reshape(-1)], normals))


def face_normals(positions: Floats, triangles: Ints) -> Floats:
    """Return a normal (T, 3) per triangle; its length is twice the triangle's area, which weights sums of normals."""
    a, b, c = (positions[triangles[:, corner]] for corner in range(3))
    return np.cross(b - a, c - a)


def units(vectors: Floats) -> Floats:
    """Return vectors (N, 3) with length 1; zero vectors stay zero."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30))


def smooth(corners: Floats, normals: Floats) -> Floats:
    """Return a normal (3T, 3) per corner (3T, 3) of triangles with `normals` (T, 3).

    It is the sum over the triangles at the same place that do not form a sharp edge with the corner's own triangle.
    """
    places = _places(corners)
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    sizes = np.repeat(counts, counts)
    units = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    own, total = order // 3, np.zeros((len(order), 3))
    # The k-th neighbour of all corners at once: the number of rounds is the largest number of corners at one place.
    for k in range(min(int(sizes.max(initial=0)), 64)):
        members = np.flatnonzero(sizes > k)
        others = order[starts[members] + k] // 3
        near_mask = (units[own[members]] * units[others]).sum(1) > CREASE
        total[members[near_mask]] += normals[others[near_mask]]
    out = np.empty_like(total)
    out[order] = total
    # No neighbour matched, not even the corner itself: there is no area, or more than 64 corners share the place.
    lonely_mask = (out == 0.0).all(1)
    out[lonely_mask] = normals[np.flatnonzero(lonely_mask) // 3]
    return out


def _places(points: Floats) -> Ints:
    """Return a number (N,) per point (N, 3), equal for points at the same place."""
    # Column by column: np.unique with axis=0 compares rows byte by byte, which takes five times as long.
    keys = np.zeros(len(points), np.int64)
    for column in points.round(9).T:
        values, numbers = np.unique(column, return_inverse=True)
        keys = keys * len(values) + numbers
    return np.unique(keys, return_inverse=True)[1]


@dataclass(frozen=True)
class Material:
    """A surface: its color, multiplied with the instance's, and its texture file ("": none)."""

    rgba: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    texture: str = ""


class Drawable(NamedTuple):
    """A part in the form that graphics libraries use.

    `vertices` (V, 8) float32: position, normal, texture coordinates. `triangles` (T, 3) int32.
    """

    vertices: npt.NDArray[np.float32]
    triangles: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of one material.

    `positions` (V, 3) in m, in the frame of the mesh. `triangles` (T, 3) are indices of positions, counter-clockwise
    seen from outside. `normals` (V, 3), unit length, and texture `coordinates` (V, 2), v up, are None if absent.
    """

    positions: Floats
    triangles: Ints
    normals: Floats | None = None
    coordinates: Floats | None = None
    material: Material = Material()

    def points(self) -> Floats:
        """Return the positions (N, 3) that triangles use, in their order."""
        # Files may hold vertices without a triangle. They are not part of the surface, and PyBullet skips them too.
        used_mask = np.zeros(len(self.positions), np.bool_)
        used_mask[self.triangles.reshape(-1)] = True
        return self.positions if used_mask.all() else self.positions[used_mask]

    def turned(self) -> Part:
        """Return the part as seen from behind: triangles the other way round, normals to the other side."""
        normals = None if self.normals is None else -self.normals
        return replace(self, triangles=self.triangles[:, ::-1], normals=normals)

    def drawable(self) -> Drawable:
        """Return the part for drawing, not cached; missing normals are computed, smooth except at sharp edges."""
        positions, triangles, normals, coordinates = self.positions, self.triangles, self.normals, self.coordinates
        if normals is None:
            # A vertex on an edge has several normals, so each corner becomes a vertex of its own.
            normals = corner_normals(positions, triangles)
            corners = triangles.reshape(-1)
            positions, triangles = positions[corners], np.arange(len(corners)).reshape(-1, 3)
            coordinates = None if coordinates is None else coordinates[corners]
        vertices = np.zeros((len(positions), 8), np.float32)
        vertices[:, :3], vertices[:, 3:6] = positions, normals
        if coordinates is not None:
            vertices[:, 6:] = coordinates
        return Drawable(vertices, triangles.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Parts in one frame. `notes` list missing textures and materials, which an image will lack."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()

    def points(self) -> Floats:
        """Return the positions (N, 3) of all vertices that triangles use."""
        return np.concatenate([part.points() for part in self.parts])

    def two_sided(self) -> Mesh:
        """Return the mesh with each part from behind as well, for renderers that draw what faces them only."""
        return Mesh((*self.parts, *(part.turned() for part in self.parts)), self.notes)

    @cached_property
    def radius(self) -> float:
        """Radius of the sphere around the origin that contains all vertices."""
        return max(float(np.linalg.norm(part.positions, axis=1).max(initial=0.0)) for part in self.parts)

    @cached_property
    def reach(self) -> Floats:
        """The largest distance (3,) of vertices from the origin along each axis."""
        return np.max([np.abs(part.positions).max(axis=0, initial=0.0) for part in self.parts], axis=0)

    def bound(self, scale: Floats) -> float:
        """Return the radius of a sphere around the origin that holds the mesh, scaled by factors (3,)."""
        # Two bounds: the first is tight for unequal scales, the second for round meshes.
        return min(float(np.linalg.norm(self.reach * scale)), self.radius * float(np.max(np.abs(scale))))


def fans(counts: Ints) -> Ints:
    """Return the triangles (T, 3) of polygons with `counts` (P,) corners, as indices into their concatenated corners.

    A polygon becomes a fan around its first corner; one of fewer than three corners has no triangles.
    """
    triangles = np.maximum(counts - 2, 0)
    firsts = np.repeat(np.cumsum(counts) - counts, triangles)
    seconds = firsts + 1 + np.arange(len(firsts)) - np.repeat(np.cumsum(triangles) - triangles, triangles)
    return np.column_stack((firsts, seconds, seconds + 1))


# The description of a mesh format: its reader, and the checks before a file is read.


@dataclass(frozen=True)
class MeshFormat:
    """The reader of a format, and the checks of a file before it is read.

    `read` gets the content of a file and its path, next to which textures may be. It raises ValueError, IndexError
    or KeyError for a broken file. `count` returns the number of triangles in a content, faster than reading it; without
    it, files are read to count them. `fault` gets the first and the last bytes of a file and its size, and returns
    the fault of the file, "" if there is none. `bytes_per_triangle` is the minimum size of a triangle in a file: small
    files need not be counted.
    """

    read: Callable[[bytes, Path], Mesh]
    count: Callable[[bytes], int] | None = None
    fault: Callable[[bytes, bytes, int], str] | None = None
    bytes_per_triangle: int = 1


# Meshes of boxes, spheres, cylinders, capsules and the floor; round ones in several levels of detail.


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
