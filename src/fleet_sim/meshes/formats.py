"""The registry of mesh formats, by file name ending."""

from __future__ import annotations

from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes.collada import COLLADA
from fleet_sim.meshes.mesh_format import MeshFormat
from fleet_sim.meshes.obj import OBJ
from fleet_sim.meshes.stl import STL
from fleet_sim.registry import Registry, instances_of


def _check_ending(ending: str, _: MeshFormat) -> None:
    if not ending.startswith(".") or ending != ending.lower():
        raise InvalidValueError(f"the name of a mesh format is its ending in lower case, as '.ply'; got {ending!r}")


FORMATS = Registry(
    "mesh format",
    instances_of(MeshFormat),
    group="fleet_sim.mesh_format",
    built_in={".obj": OBJ, ".stl": STL, ".dae": COLLADA},
    check=_check_ending,
)
"""Formats by ending, in lower case with its dot."""
