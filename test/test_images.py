"""PNG files hold the pixels they were made from."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from fleet_sim.errors import InvalidValueError
from fleet_sim.images import write_png


def test_a_file_holds_its_pixels(tmp_path: Path) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    write_png(tmp_path / "picture.png", rgb)
    data = (tmp_path / "picture.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + length
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == (7, 5)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(5, 22)
    assert not lines[:, 0].any()
    assert np.array_equal(lines[:, 1:].reshape(5, 7, 3), rgb)


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_what_is_no_picture_is_refused(tmp_path: Path, wrong: np.ndarray) -> None:
    with pytest.raises(InvalidValueError, match="shape"):
        write_png(tmp_path / "picture.png", wrong)
