"""A mesh with a texture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fleet_sim.base.files import write_png

QUAD = """mtllib quad.mtl
v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl picture
f 1/1 2/2 3/3 4/4
"""


def textured_quad(folder: Path, picture: bytes | None = None) -> Path:
    """Write a square whose texture is red in one corner, at -x and -y, green below +x, and blue above; its path."""
    pixels = np.zeros((2, 2, 3), np.uint8)
    pixels[1, 0, 0] = pixels[1, 1, 1] = pixels[0, :, 2] = 255
    if picture is None:
        write_png(folder / "colors.png", pixels)
    else:
        (folder / "colors.png").write_bytes(picture)
    (folder / "quad.mtl").write_text("newmtl picture\nmap_Kd colors.png\n")
    (folder / "quad.obj").write_text(QUAD)
    return folder / "quad.obj"
