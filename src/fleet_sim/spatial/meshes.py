"""Triangle meshes as the rasteriser draws them, and normals for those that have none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import AnyArray, Floats, Ints

CREASE = math.cos(math.radians(40.0))
"""Cosine of the angle between two faces from which on their edge is seen as an edge."""
_LARGEST_SMOOTHED = 200_000


@dataclass(frozen=True)
class Material:
    """A surface: its colour, as a factor on the instance's, and the file of a texture ("": none)."""

    rgba: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    texture: str = ""


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of one material.

    `vertices` (V, 8) float32: position, normal, texture coordinates with v up. `triangles` (T, 3) int32, counter-
    clockwise seen from outside.
    """

    vertices: npt.NDArray[np.float32]
    triangles: npt.NDArray[np.int32]
    material: Material = Material()


@dataclass(frozen=True, eq=False)
class Mesh:
    """Parts in one frame."""

    parts: tuple[Part, ...]

    @cached_property
    def radius(self) -> float:
        """Of the sphere around the origin that holds all vertices."""
        return max(float(np.linalg.norm(part.vertices[:, :3], axis=1).max(initial=0.0)) for part in self.parts)

    @cached_property
    def reach(self) -> Floats:
        """The largest distance (3,) of vertices from the origin along each axis."""
        sides = [np.abs(part.vertices[:, :3]).max(0, initial=0.0) for part in self.parts]
        return np.asarray(np.max(sides, axis=0), np.float64)

    def bound(self, scale: Floats) -> float:
        """Return the radius of a sphere around the origin that holds the mesh, scaled by factors (3,)."""
        return min(float(np.linalg.norm(self.reach * scale)), self.radius * float(np.max(np.abs(scale))))


def make_part(
    positions: AnyArray,
    triangles: AnyArray,
    normals: AnyArray | None = None,
    texture_coordinates: AnyArray | None = None,
    material: Material = Material(),
) -> Part:
    """Return positions (V, 3), triangles (T, 3), normals (V, 3) and texture coordinates (V, 2) as a Part.

    Missing normals are made from the triangles, smooth but for sharp edges.
    """
    positions = np.asarray(positions, np.float64).reshape(-1, 3)
    triangles = np.asarray(triangles, np.int64).reshape(-1, 3)
    if normals is None:
        positions, triangles, normals, corners = _with_normals(positions, triangles)
        if texture_coordinates is not None:
            texture_coordinates = np.asarray(texture_coordinates)[corners]
    vertices = np.zeros((len(positions), 8), np.float32)
    vertices[:, :3] = positions
    vertices[:, 3:6] = normals
    if texture_coordinates is not None:
        vertices[:, 6:] = texture_coordinates
    return Part(vertices, triangles.astype(np.int32), material)


def _with_normals(positions: Floats, triangles: Ints) -> tuple[Floats, Ints, Floats, Ints]:
    """Return each triangle's corners as vertices of their own, with normals, and the vertices they were."""
    corners = triangles.reshape(-1)
    normals = face_normals(positions, triangles)
    spread = smooth(positions[corners], normals) if len(triangles) <= _LARGEST_SMOOTHED else np.repeat(normals, 3, 0)
    spread = spread / np.maximum(np.linalg.norm(spread, axis=1, keepdims=True), 1e-30)
    return positions[corners], np.arange(len(corners)).reshape(-1, 3), spread, corners


def face_normals(positions: Floats, triangles: Ints) -> Floats:
    """Return a normal (T, 3) per triangle, as long as twice its area."""
    a, b, c = (positions[triangles[:, corner]] for corner in range(3))
    return np.cross(b - a, c - a)


def smooth(corners: Floats, normals: Floats) -> Floats:
    """Return a normal (3T, 3) per corner (3T, 3) of triangles with `normals` (T, 3).

    It is the sum over those triangles at the same place that do not meet the corner's own at a sharp edge.
    """
    _, places = np.unique(corners.round(9), axis=0, return_inverse=True)
    order = np.argsort(places.reshape(-1), kind="stable")
    counts = np.bincount(places.reshape(-1))
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    sizes = np.repeat(counts, counts)
    units = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    own, total = order // 3, np.zeros((len(order), 3))
    # The k-th neighbour of all corners at once: as many rounds as the most crowded place has corners.
    for k in range(min(int(sizes.max(initial=0)), 64)):
        members = np.flatnonzero(sizes > k)
        others = order[starts[members] + k] // 3
        near_mask = (units[own[members]] * units[others]).sum(1) > CREASE
        total[members[near_mask]] += normals[others[near_mask]]
    out = np.empty_like(total)
    out[order] = total
    lonely_mask = (out == 0.0).all(1)
    out[lonely_mask] = normals[np.flatnonzero(lonely_mask) // 3]
    return out
