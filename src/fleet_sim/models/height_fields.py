"""Meshes that no file has: height fields, and arrays, written to a file of the cache once."""

from __future__ import annotations

import importlib
from functools import lru_cache

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import is_file, to_read
from fleet_sim.base.gate import LARGEST_SIZE
from fleet_sim.base.spatial.triangles import grid_triangles
from fleet_sim.models.generated import keep

# Meshes given as arrays: written to a file of the cache once, so that every reader of meshes reads the same.


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
        # What is no number becomes another one, and is refused below.
        with np.errstate(invalid="ignore"):
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
    if not is_file(found):  # the cache folder was emptied
        _written.cache_clear()
        found = _written(vertices, triangles)
    return found


@lru_cache(maxsize=256)
def _written(vertices: Vertices, triangles: Triangles) -> str:
    # 17 digits bring back the same float64.
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}\n" for x, y, z in vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in triangles]
    return str(keep("".join(lines).encode(), "mesh.obj"))


Heights = tuple[tuple[float, ...], ...]

_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L")


def read_heights(value: object) -> Heights | None:
    """Return heights in m, at least 2 lines of 2; raises InvalidValueError."""
    if value is None:
        return None
    try:
        heights = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"heights: lines of equally many numbers, got {error}") from error
    _check_grid(heights, "heights")
    # `not ... <=`, so that NaN is refused too.
    if not np.abs(heights).max() <= LARGEST_SIZE:
        raise InvalidValueError(f"heights: numbers within {LARGEST_SIZE:g} m, got one that is not")
    return tuple(map(tuple, heights.tolist()))


def image_heights(path: str, white: float) -> Heights:
    """Return the heights that a grayscale picture shows, the line of least y first: black is 0, white is `white` m.

    Raises MissingDependencyError without Pillow, InvalidValueError for a file that is no picture in grey.
    """
    with of_extra("PIL", "camera", "Reading pictures of heights"):
        image_module = importlib.import_module("PIL.Image")
    try:
        with image_module.open(to_read(path)) as image:
            mode, pixels = str(image.mode), np.asarray(image, np.float64)
    except (OSError, ValueError) as error:
        raise InvalidValueError(f"height_image: {path!r} cannot be read: {error}") from error
    # Colors would have to be weighed into heights, and nobody said how.
    if mode != "L" and mode not in _SIXTEEN_BITS:
        raise InvalidValueError(
            f"height_image: {path!r} is not a grayscale picture of 8 or 16 bits, but of mode {mode!r}"
        )
    _check_grid(pixels, "height_image")
    # Pictures begin at the top, which is the largest y of a map seen from above.
    return tuple(map(tuple, (white / (255.0 if mode == "L" else 65535.0) * pixels[::-1]).tolist()))


def _check_grid(heights: Floats, what: str) -> None:
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise InvalidValueError(f"{what}: at least 2 lines of 2 numbers, got an array of shape {heights.shape}")
    triangles = 2 * (heights.shape[0] - 1) * (heights.shape[1] - 1)
    if triangles > MOST_TRIANGLES:
        raise InvalidValueError(f"{what}: {triangles} triangles, {MOST_TRIANGLES} are allowed; take fewer points")


def height_field_file(heights: Floats, spacing: tuple[float, float], *, centred: bool) -> str:
    """Return an OBJ file of the surface through `heights` (rows along y, columns along x), in m, at least 2 by 2.

    The middle of the grid is at x = y = 0, neighbours are `spacing` (along x, along y) apart. The triangles are those
    of PyBullet's height fields; `centred` also puts 0 in the middle between the least and the largest height, as there.
    """
    lines, columns = heights.shape
    x = (np.arange(columns) - 0.5 * (columns - 1)) * spacing[0]
    y = (np.arange(lines) - 0.5 * (lines - 1)) * spacing[1]
    z = heights - 0.5 * (heights.min() + heights.max()) if centred else heights
    points = np.stack((np.broadcast_to(x, z.shape), np.broadcast_to(y[:, None], z.shape), z), axis=2).reshape(-1, 3)
    vertices = tuple((a, b, c) for a, b, c in points.tolist())
    return mesh_file(vertices, tuple((a, b, c) for a, b, c in grid_triangles(columns, lines).tolist()))
