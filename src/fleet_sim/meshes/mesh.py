"""Triangle meshes: returned by readers of mesh files, used by boxes, lidars and cameras."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats, Ints
from fleet_sim.meshes.normals import corner_normals


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
