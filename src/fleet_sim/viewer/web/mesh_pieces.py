"""Meshes in the form in which they are sent to the page."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.meshes.mesh import Mesh, Part

Rgb = tuple[float, float, float]
SMOOTH = 1e-4
"""Corners at one point whose normals differ by less, per axis, are one vertex."""


class MeshPiece(NamedTuple):
    """The triangles of a mesh that have one colour. `tint` is multiplied with the colour of an instance.

    The page computes normals itself, as averages over the triangles at a vertex: an edge is sharp where its corners are
    different vertices.
    """

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]
    tint: Rgb
    opacity: float


def pieces_of(mesh: Mesh) -> tuple[MeshPiece, ...]:
    """Return the pieces of `mesh`, one for each colour in it."""
    by_colour: dict[tuple[float, ...], list[Part]] = {}
    for part in mesh.parts:
        by_colour.setdefault(part.material.rgba, []).append(part)
    return tuple(_piece(parts) for parts in by_colour.values())


def _piece(parts: list[Part]) -> MeshPiece:
    vertices, faces, count = [], [], 0
    for part in parts:
        drawable = part.drawable()
        vertices.append(drawable.vertices[:, :6])
        faces.append(drawable.triangles + count)
        count += len(drawable.vertices)
    corners = np.concatenate(vertices)
    # One vertex for all corners that are at one point and look the same way.
    keys = np.round(corners / SMOOTH).astype(np.int64)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    welded = number.reshape(-1)[np.concatenate(faces)]
    red, green, blue, opacity = parts[0].material.rgba
    positions = np.ascontiguousarray(corners[first, :3], np.float32)
    return MeshPiece(positions, welded.astype(np.uint32), (red, green, blue), opacity)
