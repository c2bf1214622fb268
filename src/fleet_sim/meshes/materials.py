"""Materials of meshes: MTL files and texture files."""

from __future__ import annotations

from pathlib import Path

from fleet_sim.meshes.mesh import Material
from fleet_sim.paths import is_file


def read_mtl(file: Path, notes: list[str]) -> dict[str, Material]:
    """Return the materials of an MTL file by name; missing files are appended to `notes`."""
    if not is_file(file):
        notes.append(f"materials {file} are missing; the mesh is drawn in one color")
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
            materials[name] = Material(materials[name].rgba, texture_file(file.parent, words[-1], notes))
    return {name: textured(material) for name, material in materials.items()}


def texture_file(folder: Path, name: str, notes: list[str]) -> str:
    """Return the path of a texture; if there is no such file, return "" and append it to `notes`."""
    path = folder / name.replace("\\", "/")
    if is_file(path):
        return str(path)
    notes.append(f"texture {path} is missing; the mesh is drawn without it")
    return ""


def textured(material: Material) -> Material:
    """Return the material, white if it has a texture, so that only the texture colors it, as in PyBullet's view."""
    return Material((1.0, 1.0, 1.0, 1.0), material.texture) if material.texture else material
