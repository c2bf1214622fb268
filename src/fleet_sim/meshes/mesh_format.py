"""The description of a mesh format: its reader, and the checks before a file is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleet_sim.meshes.mesh import Mesh


@dataclass(frozen=True)
class MeshFormat:
    """The reader of a format, and the checks of a file before it is read.

    `read` gets the content of a file and its path, next to which textures may be. It raises ValueError, IndexError
    or KeyError for a broken file. `count` returns the number of triangles in a content, faster than reading it; without
    it, files are read to count them. `fault` gets the first and the last bytes of a file and its size, and returns
    the fault of the file, "" if there is none. `bytes_per_triangle` is the minimum size of a triangle in a file: small
    files need not be counted.
    """

    read: Callable[[bytes, Path], Mesh]
    count: Callable[[bytes], int] | None = None
    fault: Callable[[bytes, bytes, int], str] | None = None
    bytes_per_triangle: int = 1
