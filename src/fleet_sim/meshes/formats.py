"""The formats of mesh files, by the ending of their names: the one list that everybody asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes import collada, obj, stl
from fleet_sim.meshes.mesh import Mesh
from fleet_sim.registry import Registry, instances_of


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


def _check_ending(ending: str, _: MeshFormat) -> None:
    if not ending.startswith(".") or ending != ending.lower():
        raise InvalidValueError(f"the name of a mesh format is its ending in lower case, as '.ply'; got {ending!r}")


FORMATS = Registry(
    "mesh format",
    instances_of(MeshFormat),
    group="fleet_sim.mesh_format",
    built_in={
        ".obj": MeshFormat(obj.read_obj, obj.count_obj, obj.obj_fault, obj.BYTES_PER_TRIANGLE),
        ".stl": MeshFormat(stl.read_stl, stl.count_stl, stl.stl_fault, stl.BYTES_PER_TRIANGLE),
        ".dae": MeshFormat(
            collada.read_collada, collada.count_collada, collada.collada_fault, collada.BYTES_PER_TRIANGLE
        ),
    },
    check=_check_ending,
)
"""Formats by ending, in lower case with its dot."""
