"""What a format of mesh files is: a reader, and how a file is judged before it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleet_sim.meshes.mesh import Mesh


@dataclass(frozen=True)
class MeshFormat:
    """How files of a format are read, and how they are judged before that.

    `read` is given the content of a file and its path, beside which textures may be. It raises ValueError, IndexError
    or KeyError for a broken file. `count` returns how many triangles a content has, faster than reading it; without it
    files are read to count them. `fault` is given the first and the last bytes of a file and its size, and returns
    what is wrong with it, "" for nothing. `bytes_per_triangle` is the least a triangle takes in a file, so that small
    files need not be counted.
    """

    read: Callable[[bytes, Path], Mesh]
    count: Callable[[bytes], int] | None = None
    fault: Callable[[bytes, bytes, int], str] | None = None
    bytes_per_triangle: int = 1
