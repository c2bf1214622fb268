"""STL files, binary and text: triangles without materials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial.meshes import Part, make_part

_HEADER = 84
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(file: Path) -> list[Part]:
    """Return the triangles as one part, smooth but for sharp edges; raises ValueError for a broken file."""
    data = file.read_bytes()
    corners = _read_binary(data) if _is_binary(data) else _read_text(data)
    return [make_part(corners, np.arange(len(corners)).reshape(-1, 3))]


def _count(data: bytes) -> int:
    return int(np.frombuffer(data, "<u4", 1, _HEADER - 4)[0])


def _is_binary(data: bytes) -> bool:
    if len(data) >= _HEADER and len(data) == _HEADER + _count(data) * _TRIANGLE.itemsize:
        return True
    return not data.lstrip().startswith(b"solid")


def _read_binary(data: bytes) -> Floats:
    if len(data) < _HEADER:
        raise ValueError(f"it ends after {len(data)} bytes, within the header")
    count = _count(data)
    if len(data) < _HEADER + count * _TRIANGLE.itemsize:
        raise ValueError(f"it should have {count} triangles but ends after {len(data)} bytes")
    triangles = np.frombuffer(data, _TRIANGLE, count, _HEADER)
    return triangles["corners"].reshape(-1, 3).astype(np.float64)


def _read_text(data: bytes) -> Floats:
    words = data.decode("ascii", "replace").split()
    places = [place for place, word in enumerate(words) if word == "vertex"]
    corners = np.array([words[place + 1 : place + 4] for place in places], np.float64).reshape(-1, 3)
    if len(corners) % 3:
        raise ValueError(f"it has {len(corners)} corners, which is not three for each triangle")
    return corners
