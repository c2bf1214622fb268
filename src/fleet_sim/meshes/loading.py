"""Loads mesh files and computes their bounding boxes."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes.formats import FORMATS
from fleet_sim.meshes.mesh import Mesh, Part

_LARGEST = float(np.finfo(np.float32).max)
"""Graphics cards compute in float32, which cannot hold larger numbers."""


def load_mesh(path: str) -> Mesh:
    """Return the mesh in a file; each of its parts has triangles, and all their corners are finite points.

    The file is read again at each call. Raises InvalidValueError if it is missing, broken, empty or of unknown format.
    """
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"mesh {path!r}: unknown format; use one of {', '.join(FORMATS)}")
    try:
        # Numbers that overflow are found below, in what came of them.
        with np.errstate(over="ignore", invalid="ignore"):
            mesh = FORMATS[file.suffix.lower()].read(file.read_bytes(), file)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InvalidValueError(f"mesh {path!r} is no readable {file.suffix} file: {error}") from error
    parts = tuple(part for part in mesh.parts if len(part.triangles))
    if not parts:
        raise InvalidValueError(f"mesh {path!r} has no triangles")
    for part in parts:
        _check(part, path)
    return Mesh(parts, mesh.notes)


def version_of(path: str) -> int:
    """Return a number that changes when the file `path` is written again; 0 where there is none.

    Part of the key of whatever is cached from a mesh, so that a changed file is read again.
    """
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return 0


def mesh_extents(path: str) -> tuple[Floats, Floats]:
    """Return the lowest and highest corner, (3,) and (3,), of the box around the mesh file `path`, in its own frame.

    Boxes are cached until their files change. Raises InvalidValueError as `load_mesh` does.
    """
    try:
        status = Path(path).stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    lower, upper = _extents(path, status.st_mtime_ns, status.st_size)
    return lower.copy(), upper.copy()


@lru_cache(maxsize=1024)
def _extents(path: str, _changed: int, _size: int) -> tuple[Floats, Floats]:
    points = load_mesh(path).points()
    return points.min(axis=0), points.max(axis=0)


def _check(part: Part, path: str) -> None:
    """Raise InvalidValueError for a part with invalid numbers or indices, whatever reader it is from."""
    for numbers in (part.positions, part.normals, part.coordinates):
        # NaN fails this comparison too; `> _LARGEST` would accept it.
        if numbers is not None and not (np.abs(numbers) <= _LARGEST).all():
            raise InvalidValueError(f"mesh {path!r} has coordinates that are no finite numbers")
    if part.triangles.min() < 0 or part.triangles.max() >= len(part.positions):
        raise InvalidValueError(f"mesh {path!r} has triangle indices out of range")


def _unreadable(path: str, error: OSError) -> InvalidValueError:
    return InvalidValueError(f"mesh {path!r} cannot be read: {error.strerror or error}")
