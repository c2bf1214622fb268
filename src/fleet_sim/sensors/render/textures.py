"""Textures: picture files as pixels, for all that draws meshes."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Bytes
from fleet_sim.errors import InvalidValueError, missing_extra


def read_texture(path: str) -> Bytes:
    """Return a picture file as (H, W, 3) uint8, last line first, as texture coordinates count.

    Raises MissingDependencyError without Pillow, InvalidValueError for a file that is no picture.
    """
    try:
        image_module = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise missing_extra("PIL", "camera", "Drawing textures") from error
    try:
        with image_module.open(Path(path)) as image:
            pixels = np.asarray(image.convert("RGB"), np.uint8)
    except (OSError, ValueError) as error:
        raise InvalidValueError(f"texture {path!r} cannot be read: {error}") from error
    # OpenGL takes the first row in memory as v = 0, and v points up. It reads memory, so a flipped view will not do.
    return np.ascontiguousarray(pixels[::-1])
