"""Height fields as meshes: heights over a grid of points, two triangles between any four of them."""

from __future__ import annotations

import importlib

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError, missing_extra
from fleet_sim.gate.bounds import LARGEST_SIZE
from fleet_sim.models.mesh_arrays import MOST_TRIANGLES, mesh_file
from fleet_sim.spatial.triangles import grid_triangles

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
    try:
        image_module = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise missing_extra("PIL", "camera", "Reading pictures of heights") from error
    try:
        with image_module.open(path) as image:
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
