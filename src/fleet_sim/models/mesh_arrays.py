"""Meshes given as arrays: written to a file of the cache once, so that every reader of meshes reads the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_SIZE
from fleet_sim.models.generated import keep

Vertices = tuple[tuple[float, float, float], ...]
Triangles = tuple[tuple[int, int, int], ...]

MOST_TRIANGLES = 1_000_000
"""Of one mesh, and the most vertices."""


def read_vertices(value: object) -> Vertices | None:
    """Return vertices in m, (V, 3) or flat; raises InvalidValueError."""
    rows = _rows(value, "vertices", np.float64)
    # `not ... <=`, so that NaN is refused too.
    if rows is not None and not np.abs(rows).max() <= LARGEST_SIZE:
        raise InvalidValueError(f"vertices: numbers within {LARGEST_SIZE:g} m, got one that is not")
    return None if rows is None else tuple((x, y, z) for x, y, z in rows.tolist())


def read_triangles(value: object) -> Triangles | None:
    """Return the triangles of a mesh as indices of vertices, (T, 3) or flat; raises InvalidValueError."""
    rows = _rows(value, "indices", np.int64)
    if rows is not None and rows.min() < 0:
        raise InvalidValueError(f"indices: vertices are counted from 0, got {int(rows.min())}")
    return None if rows is None else tuple((a, b, c) for a, b, c in rows.tolist())


def _rows(value: object, what: str, kind: type[np.float64] | type[np.int64]) -> np.ndarray | None:
    """Return triples (N, 3) of numbers, whole ones for np.int64; None for None. Raises InvalidValueError."""
    if value is None:
        return None
    try:
        given = np.asarray(value)
        rows = given.astype(kind).reshape(-1, 3)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValueError(f"{what}: a list of triples of numbers, or a flat list of them, got {error}") from error
    if given.dtype.kind not in "iuf" or (kind is np.int64 and (given.reshape(-1, 3) != rows).any()):
        whole = "whole numbers" if kind is np.int64 else "numbers"
        raise InvalidValueError(f"{what}: expected {whole}, got {str(value)[:80]}")
    if not 1 <= len(rows) <= MOST_TRIANGLES:
        raise InvalidValueError(f"{what}: from 1 to {MOST_TRIANGLES} triples, got {len(rows)}")
    return rows


def mesh_file(vertices: Vertices, triangles: Triangles) -> str:
    """Return an OBJ file of a mesh; raises InvalidValueError for an index without a vertex.

    Equal meshes share a file.
    """
    # Vertices that no triangle uses are no fault: they just are not seen.
    highest = max(map(max, triangles))
    if highest >= len(vertices):
        raise InvalidValueError(f"indices: there are {len(vertices)} vertices, so no vertex {highest}")
    found = _written(vertices, triangles)
    if not Path(found).is_file():  # the cache folder was emptied
        _written.cache_clear()
        found = _written(vertices, triangles)
    return found


@lru_cache(maxsize=256)
def _written(vertices: Vertices, triangles: Triangles) -> str:
    # 17 digits bring back the same float64.
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}\n" for x, y, z in vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in triangles]
    return str(keep("".join(lines).encode(), "mesh.obj"))
