"""The triangles of the mesh of a geometry, scaled."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.shapes import Geometry
from fleet_sim.meshes.loading import load_mesh, version_of


class MeshTriangles:
    """The triangles `corners` (T, 3, 3) of a mesh in its own frame, read-only. Equal only to itself."""

    __slots__ = ("corners",)

    def __init__(self, corners: Floats) -> None:
        self.corners = corners
        self.corners.flags.writeable = False


def triangles_of(geometry: Geometry) -> MeshTriangles:
    """Return the triangles of the mesh of `geometry`; equal meshes share one object, until their file changes.

    Raises InvalidValueError for a file that cannot be read.
    """
    return _triangles(geometry.mesh_path, geometry.mesh_scale, version_of(geometry.mesh_path))


@lru_cache(maxsize=256)
def _triangles(path: str, scale: tuple[float, float, float], _changed: int) -> MeshTriangles:
    corners = np.concatenate([part.positions[part.triangles] for part in load_mesh(path).parts])
    return MeshTriangles(corners * np.array(scale))
