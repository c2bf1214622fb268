"""Limits for mesh files of robots, checked before anything reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fleet_sim.meshes.formats import FORMATS
from fleet_sim.meshes.mesh_format import MeshFormat

_END = 4096
"""Number of bytes at either end of a file that are checked for its format."""
_ADVICE = "simplify the mesh, or pass MeshLimits with a higher limit"


@dataclass(frozen=True)
class MeshLimits:
    """The largest mesh file that is accepted; larger files are rejected before they are loaded."""

    max_bytes: int = 128 * 1024 * 1024
    max_triangles: int = 1_000_000

    def fault(self, path: Path) -> str:
        """Return the fault of the mesh file `path`, whose ending is one of FORMATS; "" if there is none.

        Only both ends of the file are checked, and triangles are counted where there may be too many; the full content
        is checked when the mesh is loaded.
        """
        size, mesh_format = path.stat().st_size, FORMATS[path.suffix.lower()]
        if size > self.max_bytes:
            return f"has {size} bytes, {self.max_bytes} are allowed; {_ADVICE}"
        if size == 0:
            return "is empty"
        fault = _fault_at_ends(path, size, mesh_format)
        if fault:
            return f"is no readable {path.suffix} file: {fault}"
        if size // mesh_format.bytes_per_triangle <= self.max_triangles:
            return ""
        triangles = count_triangles(path)
        too_many = triangles > self.max_triangles
        return f"has {triangles} triangles, {self.max_triangles} are allowed; {_ADVICE}" if too_many else ""


def _fault_at_ends(path: Path, size: int, mesh_format: MeshFormat) -> str:
    if mesh_format.fault is None:
        return ""
    with path.open("rb") as file:
        head = file.read(_END)
        file.seek(max(0, size - _END))
        return mesh_format.fault(head, file.read(), size)


def count_triangles(path: Path) -> int:
    """Return the number of triangles in the mesh file `path`; its ending is one of FORMATS."""
    mesh_format, data = FORMATS[path.suffix.lower()], path.read_bytes()
    if mesh_format.count is not None:
        return mesh_format.count(data)
    return sum(len(part.triangles) for part in mesh_format.read(data, path).parts)
