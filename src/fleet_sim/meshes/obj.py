"""Wavefront OBJ files, with the colors and textures of their MTL files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.meshes.materials import read_mtl
from fleet_sim.meshes.mesh import Material, Mesh, Part, fans
from fleet_sim.meshes.mesh_format import MeshFormat
from fleet_sim.meshes.obj_lines import Lines, read_corners
from fleet_sim.paths import is_file

_FACE = re.compile(rb"^[ \t]*f[ \t][^\r\n]*", re.MULTILINE)
_TABLES = {"v": 3, "vt": 2, "vn": 3}
"""How many numbers per line are used, for positions, texture coordinates and normals."""
_LARGEST_KEY = 2**62
_NO_MATERIAL = frozenset({"", "None", "DefaultMaterial"})
"""What programs write for faces without a material: Blender None, Assimp DefaultMaterial."""


def _read(data: bytes, file: Path) -> Mesh:
    """Return one part per material; raises ValueError or IndexError for a broken file."""
    lines = Lines(data)
    tables = [lines.table(keyword, width) for keyword, width in _TABLES.items()]
    faces = lines.numbers("f")
    corners, counts = read_corners(lines.text(faces), len(faces))
    corners = _indices(corners, np.repeat(faces, counts), lines, tables)
    triangles = fans(counts)
    line_of = np.repeat(faces, np.maximum(counts - 2, 0))

    used = dict(_by_material(line_of, lines.names("usemtl")))
    notes: list[str] = []
    materials: dict[str, Material] = {}
    for _, library in lines.names("mtllib"):
        # A library that no face needs may be missing: nothing of the picture is lost.
        if not _NO_MATERIAL.issuperset(used) or is_file(file.parent / library):
            materials |= read_mtl(file.parent / library, notes)
    parts = [
        _part(corners[triangles[chosen].reshape(-1)], tables, materials.get(name, Material()))
        for name, chosen in used.items()
    ]
    return Mesh(tuple(parts), tuple(notes))


def _count_triangles(data: bytes) -> int:
    """Return the number of triangles, without reading any of them."""
    return sum(max(len(face.split()) - 3, 0) for face in _FACE.findall(data))


def _fault(head: bytes, _tail: bytes, _size: int) -> str:
    """Return why a file that begins with `head` cannot be OBJ; "" if it can."""
    return "it has zero bytes, so it is not text" if b"\0" in head else ""


def _indices(corners: Ints, line_of: Ints, lines: Lines, tables: Sequence[Floats]) -> Ints:
    """Return corners (C, 3), given on lines `line_of` (C,), as indices into the three tables; -1 for none."""
    totals = np.array([len(table) for table in tables])
    indices = corners - 1
    if (corners < 0).any():
        # Negative indices count back from the last entry above the face.
        given = np.stack([np.searchsorted(lines.numbers(keyword), line_of) for keyword in _TABLES], axis=1)
        indices = np.where(corners < 0, corners + given, indices)
    wrong_mask = (indices >= totals) | ((indices < 0) & (corners != 0))
    wrong_mask[:, 0] |= corners[:, 0] == 0
    for corner, table in np.argwhere(wrong_mask)[:1]:
        kind = ("vertex", "texture coordinate", "normal")[table]
        raise ValueError(f"a face refers to {kind} {corners[corner, table]}, but the file has {totals[table]}")
    return indices


def _by_material(line_of: Ints, switches: Sequence[tuple[int, str]]) -> Iterator[tuple[str, Ints]]:
    """Yield each material with the triangles that use it; `line_of` (T,) are the lines of triangles."""
    # Triangles above the first `usemtl` have the material without a name.
    names = ["", *(name for _, name in switches)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    current = np.searchsorted(np.array([line for line, _ in switches], np.int64), line_of)
    used = np.array([numbers[name] for name in names], np.int64)[current]
    order = np.argsort(used, kind="stable")
    bounds = np.searchsorted(used[order], np.arange(len(numbers) + 1))
    for name, start, stop in zip(numbers, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if stop > start:
            yield name, order[start:stop]


def _part(corners: Ints, tables: Sequence[Floats], material: Material) -> Part:
    """Return the part of triangles with `corners` (3T, 3)."""
    positions, coordinates, normals = tables
    # Corners with the same position, coordinates and normal share one vertex: each combination gets an integer key.
    keys = corners[:, 0] * (len(coordinates) + 1) + corners[:, 1] + 1
    if len(positions) * (len(coordinates) + 1) * (len(normals) + 1) > _LARGEST_KEY:
        keys = np.unique(keys, return_inverse=True)[1]
    keys = keys * (len(normals) + 1) + corners[:, 2] + 1
    _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
    distinct = corners[firsts]
    # The row added at the end is what index -1, no coordinates, finds.
    coordinates = np.concatenate((coordinates, [[0.0, 0.0]]))[distinct[:, 1]]
    chosen = normals[distinct[:, 2]] if (distinct[:, 2] >= 0).all() else None
    return Part(positions[distinct[:, 0]], places.reshape(-1, 3), chosen, coordinates, material)


OBJ = MeshFormat(_read, _count_triangles, _fault, bytes_per_triangle=8)
