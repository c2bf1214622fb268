"""STL files, binary and text: triangles without materials."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.meshes.mesh import Mesh, Part
from fleet_sim.meshes.mesh_format import MeshFormat

_HEADER = 84
# Packed to 50 bytes, as in the file: NumPy must not align the fields.
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_CORNER = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")


def _read(data: bytes, _file: Path) -> Mesh:
    """Return the triangles as one part; raises ValueError for a broken file.

    The normals in the file are not used: many programs write zeros, and one per face shows every facet of a ball.
    """
    corners = _text(data) if _is_text(data) else _binary(data)
    return Mesh((Part(corners, np.arange(len(corners)).reshape(-1, 3)),))


def _count_triangles(data: bytes) -> int:
    """Return how many triangles there are."""
    return data.count(b"endfacet") if _is_text(data) else _count(data)


def _fault(head: bytes, _tail: bytes, size: int) -> str:
    """Return why a file of `size` bytes that begins with `head` cannot be STL, "" where it can."""
    if head.lstrip().startswith(b"solid"):
        return ""
    needed = _HEADER + _TRIANGLE.itemsize * _count(head)
    if size >= max(needed, _HEADER):
        return ""
    return f"it should have {needed} bytes but ends after {size}; is it complete?"


def _count(data: bytes) -> int:
    return int.from_bytes(data[_HEADER - 4 : _HEADER], "little")


def _is_text(data: bytes) -> bool:
    # Some programs begin binary files with the word that is meant for text; only the size tells.
    return data.lstrip().startswith(b"solid") and len(data) != _HEADER + _count(data) * _TRIANGLE.itemsize


def _binary(data: bytes) -> Floats:
    if len(data) < _HEADER:
        raise ValueError(f"it ends after {len(data)} bytes, within the header")
    count = _count(data)
    if len(data) < _HEADER + count * _TRIANGLE.itemsize:
        raise ValueError(f"it should have {count} triangles but ends after {len(data)} bytes")
    triangles = np.frombuffer(data, _TRIANGLE, count, _HEADER)
    return triangles["corners"].reshape(-1, 3).astype(np.float64)


def _text(data: bytes) -> Floats:
    corners = np.array(_CORNER.findall(data), np.float64).reshape(-1, 3)
    if len(corners) % 3:
        raise ValueError(f"it has {len(corners)} corners, which is not three for each triangle")
    return corners


STL = MeshFormat(_read, _count_triangles, _fault, bytes_per_triangle=50)
