"""Which instances a camera can see, and how large it sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.sensors.render.shot import Shot


class Views(NamedTuple):
    """Spheres as a camera sees them: whether at all (M,), and their radii in pixels (M,)."""

    seen_mask: Bools
    pixels: Floats


def view_spheres(shot: Shot, axes: Floats, centres: Floats, radii: Floats) -> Views:
    """Return what a camera sees of spheres with `centres` (M, 3), world axes relative to the eye, and `radii` (M,).

    `axes` (3, 3) has the axes of the optical frame as columns. Spheres in a corner may count as seen without being so.
    """
    lens = shot.intrinsics
    seen = centres @ axes
    x, y, z = seen[:, 0], seen[:, 1], seen[:, 2]
    mask = (z > shot.near - radii) & (z < shot.far + radii)
    edges_x = (-0.5 - lens.cx) / lens.fx, (lens.width - 0.5 - lens.cx) / lens.fx
    edges_y = (-0.5 - lens.cy) / lens.fy, (lens.height - 0.5 - lens.cy) / lens.fy
    for side, (low, high) in ((x, edges_x), (y, edges_y)):
        mask &= side - low * z > -radii * np.hypot(1.0, low)
        mask &= side - high * z < radii * np.hypot(1.0, high)
    return Views(mask, max(lens.fx, lens.fy) * radii / np.maximum(z, shot.near))
