"""Which instances a camera can see, and how large it sees them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.sensors.render.shot import Shot


class Frustum:
    """The space visible to a camera, bounded by six planes."""

    def __init__(self, shot: Shot, axes: Floats) -> None:
        """Take the space of `shot`; `axes` (3, 3) has the axes of its optical frame as columns, in world axes."""
        lens = shot.intrinsics
        # The picture ends half a pixel outside of the centres of its outermost pixels.
        left, right = (-0.5 - lens.cx) / lens.fx, (lens.width - 0.5 - lens.cx) / lens.fx
        top, bottom = (-0.5 - lens.cy) / lens.fy, (lens.height - 0.5 - lens.cy) / lens.fy
        inwards = np.array([
            (1.0, 0.0, -left), (-1.0, 0.0, right), (0.0, 1.0, -top), (0.0, -1.0, bottom), (0.0, 0.0, 1.0),
            (0.0, 0.0, -1.0),
        ]).T  # fmt: skip
        inwards /= np.sqrt((inwards * inwards).sum(0))
        # Turned into world axes once, instead of turning every centre into the optical frame.
        self._normals = axes @ inwards
        self._offsets = np.array([0.0, 0.0, 0.0, 0.0, -shot.near, shot.far])
        self._forward = axes[:, 2]
        self._focal = max(lens.fx, lens.fy)
        self._near = shot.near

    def sees(self, centres: Floats, radii: Floats) -> Bools:
        """Return which spheres it sees, of `centres` (M, 3), in world axes and relative to the eye, and `radii` (M,).

        Spheres outside a corner may count as seen.
        """
        inside = centres @ self._normals
        inside += self._offsets
        inside += radii[:, None]
        return np.asarray(inside.min(1, initial=np.inf) > 0.0)

    def pixels(self, centres: Floats, radii: Floats) -> Floats:
        """Return the radii (M,) in pixels of spheres it sees."""
        # What is around or behind the eye gets the size it would have at the near plane: the finest level, and no
        # division by 0.
        return self._focal * radii / np.maximum(centres @ self._forward, self._near)
