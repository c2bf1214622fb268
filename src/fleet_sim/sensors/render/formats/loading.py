"""Meshes from files, by the ending of their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fleet_sim.errors import InvalidValueError
from fleet_sim.sensors.render.formats.collada import read_collada
from fleet_sim.sensors.render.formats.obj import read_obj
from fleet_sim.sensors.render.formats.stl import read_stl
from fleet_sim.spatial.meshes import Mesh, Part

READERS: dict[str, Callable[[Path], list[Part]]] = {".obj": read_obj, ".stl": read_stl, ".dae": read_collada}
"""Reads the parts in a file, by its ending; raises ValueError, IndexError or KeyError for a file that is broken."""


def load_mesh(path: str) -> Mesh:
    """Return the mesh in a file; raises InvalidValueError for one that is missing, broken, empty or unknown."""
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise InvalidValueError(f"mesh {path!r}: unknown format; use one of {', '.join(READERS)}")
    try:
        parts = [part for part in reader(file) if len(part.triangles)]
    except OSError as error:
        raise InvalidValueError(f"mesh {path!r} cannot be read: {error.strerror or error}") from error
    except (ValueError, IndexError, KeyError) as error:
        raise InvalidValueError(f"mesh {path!r} is no readable {file.suffix} file: {error}") from error
    if not parts:
        raise InvalidValueError(f"mesh {path!r} has no triangles")
    for part in parts:
        if not np.isfinite(part.vertices).all():
            raise InvalidValueError(f"mesh {path!r} has coordinates that are no finite numbers")
        if part.triangles.min() < 0 or part.triangles.max() >= len(part.vertices):
            raise InvalidValueError(f"mesh {path!r} has triangles with corners that it does not have")
    return Mesh(tuple(parts))
