"""Wavefront OBJ files, with the colours and textures of their MTL files."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.spatial.meshes import Material, Part, make_part

log = logging.getLogger(__name__)

Corner = tuple[int, int, int]
"""Indices of position, texture coordinates and normal, -1 for none."""


class _Content(NamedTuple):
    positions: list[list[str]]
    coordinates: list[list[str]]
    normals: list[list[str]]
    triangles: dict[str, list[Corner]]
    """Three corners per triangle, by the name of the material."""
    libraries: list[str]


def read_obj(file: Path) -> list[Part]:
    """Return one part per material; raises ValueError or IndexError for a broken file."""
    content = _parse(file.read_text(encoding="utf-8", errors="replace"))
    materials: dict[str, Material] = {}
    for library in content.libraries:
        materials |= read_mtl(file.parent / library)
    positions = _numbers(content.positions, 3)
    coordinates = _numbers(content.coordinates, 2)
    normals = _numbers(content.normals, 3)
    return [
        _part(np.array(corners, np.int64), positions, coordinates, normals, materials.get(name, Material()))
        for name, corners in content.triangles.items()
    ]


def _parse(text: str) -> _Content:
    content = _Content([], [], [], defaultdict(list), [])
    rows = {"v": content.positions, "vt": content.coordinates, "vn": content.normals}
    material = ""
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split()
        if not words:
            continue
        key = words[0]
        if key in rows:
            rows[key].append(words[1:])
        elif key == "f":
            corners = [_corner(word, content) for word in words[1:]]
            fan = content.triangles[material]
            for second, third in pairwise(corners[1:]):
                fan += (corners[0], second, third)
        elif key == "usemtl":
            material = " ".join(words[1:])
        elif key == "mtllib":
            content.libraries.append(" ".join(words[1:]))
    return content


def _corner(word: str, content: _Content) -> Corner:
    """Return the indices in v, v/vt, v//vn or v/vt/vn; they count from 1, negative ones from the end."""
    given = (word.split("/") + ["", ""])[:3]
    known = (content.positions, content.coordinates, content.normals)
    position, coordinate, normal = (_index(index, len(rows)) for index, rows in zip(given, known, strict=True))
    if position < 0:
        raise ValueError(f"a corner of a face is {word!r}, without a vertex")
    return position, coordinate, normal


def _index(word: str, count: int) -> int:
    if not word:
        return -1
    index = int(word)
    index = index - 1 if index > 0 else count + index
    if not 0 <= index < count:
        raise ValueError(f"a face asks for number {word} of {count}")
    return index


def _numbers(rows: Sequence[Sequence[str]], width: int) -> Floats:
    return np.array([row[:width] for row in rows], np.float64).reshape(-1, width)


def _part(corners: Ints, positions: Floats, coordinates: Floats, normals: Floats, material: Material) -> Part:
    has_normals = bool((corners[:, 2] >= 0).all())
    # A corner is one vertex wherever position, coordinates and normal are the same.
    distinct, places = np.unique(corners, axis=0, return_inverse=True)
    uv = np.zeros((len(distinct), 2))
    placed_mask = distinct[:, 1] >= 0
    uv[placed_mask] = coordinates[distinct[placed_mask, 1]]
    return make_part(
        positions[distinct[:, 0]],
        places.reshape(-1, 3),
        normals[distinct[:, 2]] if has_normals else None,
        uv,
        material,
    )


def read_mtl(file: Path) -> dict[str, Material]:
    """Return the materials of an MTL file by name: none where it is missing, which is noted in the log."""
    if not file.is_file():
        log.warning("materials %s are missing; the mesh is drawn in one colour", file)
        return {}
    materials: dict[str, Material] = {}
    name = ""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "newmtl":
            name = " ".join(words[1:])
            materials[name] = Material()
        elif words[0] == "Kd" and name in materials and len(words) >= 4:
            red, green, blue = (float(word) for word in words[1:4])
            materials[name] = Material((red, green, blue, 1.0), materials[name].texture)
        elif words[0] == "map_Kd" and name in materials:
            materials[name] = Material(materials[name].rgba, texture_file(file.parent, words[-1]))
    return {name: textured(material) for name, material in materials.items()}


def texture_file(folder: Path, name: str) -> str:
    """Return the path of a texture, "" where there is no such file, which is noted in the log."""
    path = folder / name.replace("\\", "/")
    if path.is_file():
        return str(path)
    log.warning("texture %s is missing; the mesh is drawn without it", path)
    return ""


def textured(material: Material) -> Material:
    """Return the material with its colour left to its texture, if it has one: what PyBullet's view shows, too."""
    return Material((1.0, 1.0, 1.0, 1.0), material.texture) if material.texture else material
