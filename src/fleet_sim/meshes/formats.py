"""The formats of mesh files, by the ending of their names: the one list that everybody asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes import collada, obj, stl
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


FORMATS: dict[str, MeshFormat] = {
    ".obj": MeshFormat(obj.read_obj, obj.count_obj, obj.obj_fault, obj.BYTES_PER_TRIANGLE),
    ".stl": MeshFormat(stl.read_stl, stl.count_stl, stl.stl_fault, stl.BYTES_PER_TRIANGLE),
    ".dae": MeshFormat(collada.read_collada, collada.count_collada, collada.collada_fault, collada.BYTES_PER_TRIANGLE),
}
"""Formats by ending, in lower case with its dot."""


def add_mesh_format(ending: str, mesh_format: MeshFormat) -> None:
    """Let robots, boxes, lidars and cameras use files with `ending`, such as ".ply".

    Raises InvalidValueError for an ending that is taken or is none.
    """
    if not ending.startswith(".") or ending != ending.lower() or len(ending) < 2:
        raise InvalidValueError(f"the ending of a mesh format is written in lower case, as '.ply'; got {ending!r}")
    if ending in FORMATS:
        raise InvalidValueError(f"there is a mesh format {ending!r} already; take another ending")
    FORMATS[ending] = mesh_format


def format_of(path: str | Path) -> MeshFormat | None:
    """Return the format of the mesh file `path` by its ending, None where it has no known one."""
    return FORMATS.get(Path(path).suffix.lower())
