"""Writes images to PNG files."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Bytes
from fleet_sim.errors import InvalidValueError
from fleet_sim.output import replacing

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def write_png(path: str | Path, rgb: Bytes) -> None:
    """Write `rgb` (H, W, 3) uint8 as a PNG file; raises InvalidValueError for another shape or type, and
    where it cannot be written; then the file stays as it was.
    """
    content = png_bytes(rgb)
    with replacing(path) as part:
        part.write_bytes(content)


def png_bytes(rgb: Bytes) -> bytes:
    """Return `rgb` (H, W, 3) uint8 as the content of a PNG file; raises InvalidValueError as `write_png` does."""
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8:
        raise InvalidValueError(f"rgb: expected uint8 of shape (H, W, 3), got {rgb.dtype} of shape {rgb.shape}")
    height, width, _ = rgb.shape
    # In PNG, each row of pixels starts with its filter type; 0 means none.
    lines = np.zeros((height, 1 + 3 * width), np.uint8)
    lines[:, 1:] = rgb.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
