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
    return _encoded(rgb, "rgb", 3)


def transparent_png_bytes(rgba: Bytes) -> bytes:
    """Return `rgba` (H, W, 4) uint8, the last its opacity, as the content of a PNG file; raises InvalidValueError."""
    return _encoded(rgba, "rgba", 4)


def _encoded(pixels: Bytes, what: str, channels: int) -> bytes:
    """Return uint8 pixels (H, W, `channels`) as a PNG file; raises InvalidValueError for other arrays."""
    if pixels.ndim != 3 or pixels.shape[2] != channels or pixels.dtype != np.uint8:
        wanted = f"uint8 of shape (H, W, {channels})"
        raise InvalidValueError(f"{what}: expected {wanted}, got {pixels.dtype} of shape {pixels.shape}")
    height, width, _ = pixels.shape
    # In PNG, each row of pixels starts with its filter type; 0 means none.
    lines = np.zeros((height, 1 + channels * width), np.uint8)
    lines[:, 1:] = pixels.reshape(height, channels * width)
    # Colors are of type 2, with opacity of type 6.
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
