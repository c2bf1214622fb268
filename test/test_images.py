"""PNG files hold the pixels they were made from."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fleet_sim.base.arrays import transparent_png_bytes
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import write_png
from fleet_sim.models.generated import image_heights
from fleet_sim.sensing.sensors.render.scene import read_texture


def test_a_file_holds_its_pixels(tmp_path: Path) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    write_png(tmp_path / "picture.png", rgb)
    check_png((tmp_path / "picture.png").read_bytes(), rgb, kind=2)
    rgba = np.random.default_rng(0).integers(0, 256, (5, 7, 4), np.uint8)
    check_png(transparent_png_bytes(rgba), rgba, kind=6)


def check_png(data: bytes, pixels: np.ndarray, kind: int) -> None:
    """Take a PNG file of 7 x 5 pixels apart."""
    channels = pixels.shape[2]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + body),)
        chunks[name] = body
        at += 12 + length
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (7, 5, 8, kind, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(5, 1 + 7 * channels)
    assert not lines[:, 0].any()
    assert np.array_equal(lines[:, 1:].reshape(5, 7, channels), pixels)


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_what_is_no_picture_is_refused(tmp_path: Path, wrong: np.ndarray) -> None:
    with pytest.raises(InvalidValueError, match="rgba: expected uint8 of shape"):
        transparent_png_bytes(wrong[..., :3])
    with pytest.raises(InvalidValueError, match="shape"):
        write_png(tmp_path / "picture.png", wrong)


def empty_png(side: int) -> bytes:
    """Return a PNG of a few bytes which says that it has `side` squared pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("read", [lambda path: image_heights(path, 1.0), read_texture], ids=["heights", "texture"])
@pytest.mark.parametrize("side", [9_000, 60_000])
def test_a_picture_that_is_far_larger_than_its_file_is_refused(
    tmp_path: Path, read: Callable[[str], object], side: int
) -> None:
    pytest.importorskip("PIL")
    (tmp_path / "a.png").write_bytes(empty_png(side))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidValueError, match=r"too many|exceeds limit"):
            read(str(tmp_path / "a.png"))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_pictures_that_other_programs_would_draw_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    # Pillow has Ghostscript read it.
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%EOF\n")
    with pytest.raises(InvalidValueError, match="cannot identify"):
        read_texture(str(tmp_path / "a.png"))
