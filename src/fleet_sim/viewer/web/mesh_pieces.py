"""Meshes in the form in which they are sent to the page."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bytes
from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes.mesh import Drawable, Material, Mesh, Part
from fleet_sim.sensors.render.textures import read_texture

log = logging.getLogger("fleet_sim.viewer")

Rgb = tuple[float, float, float]
SMOOTH = 1e-4
"""Corners at one point whose normals differ by less, per axis, are one vertex."""


class MeshPiece(NamedTuple):
    """The triangles of a mesh that have one material. `tint` is multiplied with the color of an instance.

    The page computes normals itself, as averages over the triangles at a vertex: an edge is sharp where its corners are
    different vertices.
    """

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]
    tint: Rgb
    opacity: float
    painted: Painted | None = None
    """The same triangles with their texture."""


class Painted(NamedTuple):
    """Triangles with texture coordinates, and their texture (H, W, 3), its last line first."""

    drawable: Drawable
    picture: Bytes


def pieces_of(mesh: Mesh) -> tuple[MeshPiece, ...]:
    """Return the pieces of `mesh`, one for each material in it."""
    by_material: dict[Material, list[Part]] = {}
    for part in mesh.parts:
        by_material.setdefault(part.material, []).append(part)
    return tuple(_piece(parts) for parts in by_material.values())


def _piece(parts: list[Part]) -> MeshPiece:
    vertices, faces, count = [], [], 0
    for part in parts:
        drawable = part.drawable()
        vertices.append(drawable.vertices)
        faces.append(drawable.triangles + count)
        count += len(drawable.vertices)
    whole = Drawable(np.concatenate(vertices), np.concatenate(faces))
    corners = whole.vertices[:, :6]
    # One vertex for all corners that are at one point and look the same way.
    keys = np.round(corners / SMOOTH).astype(np.int64)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    welded = number.reshape(-1)[whole.triangles]
    material = parts[0].material
    red, green, blue, opacity = material.rgba
    painted = _painted(whole, material.texture) if material.texture else None
    positions = np.ascontiguousarray(corners[first, :3], np.float32)
    return MeshPiece(positions, welded.astype(np.uint32), (red, green, blue), opacity, painted)


def _painted(drawable: Drawable, texture: str) -> Painted | None:
    try:
        return Painted(drawable, read_texture(texture))
    except InvalidValueError as error:
        log.warning("%s; the page shows the mesh without it", error)
        return None
