"""Triangles as a surface: where a horizontal plane cuts them, what rays meet of them, and their nearest points.

A surface has two sides, both of which can be met, and no inside.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.spatial.triangle_tree import TriangleTree

_CUTS = 64
"""Number of heights whose cuts a surface keeps: lidars of one kind are at the same height in every step."""

Cut = tuple[Floats, Floats]
"""The two ends, (2, S) each, of line segments in a horizontal plane."""


class Surface:
    """Triangles `corners` (T, 3, 3) at fixed places: triangle, corner, xyz. Read-only, and costly to make."""

    def __init__(self, corners: Floats) -> None:
        self.corners = corners
        self.corners.flags.writeable = False
        heights = corners[:, :, 2]
        self._lowest, self._highest = heights.min(axis=1), heights.max(axis=1)
        # A cache of its own, so that it goes when the surface goes.
        self.cut = lru_cache(maxsize=_CUTS)(self._cut)

    @cached_property
    def tree(self) -> TriangleTree:
        """The triangles, sorted for rays and nearest points."""
        return TriangleTree(self.corners)

    @cached_property
    def normals(self) -> Floats:
        """Unit normals (T, 3) by the order of corners; zero for triangles without an area."""
        sides = self.corners[:, 1:] - self.corners[:, :1]
        normals = np.cross(sides[:, 0], sides[:, 1])
        normals /= np.maximum(np.sqrt((normals * normals).sum(axis=1)), 1e-300)[:, None]
        return normals

    def _cut(self, height: float) -> Cut:
        """Return where the plane at `height` cuts the surface: read-only arrays, shared by all callers."""
        # A corner exactly at the height counts as above. So a triangle has either no crossed side or two, without a
        # third case; one that lies in the plane is not seen, as its edge is turned to whoever is in it.
        crossed = np.flatnonzero((self._lowest < height) & (height <= self._highest))
        corners = self.corners[crossed]
        below_mask = corners[:, :, 2] < height
        # Two corners are on one side and one is on the other: the cut joins the two sides at the lonely corner.
        alone = np.where(below_mask.sum(axis=1) == 1, below_mask.argmax(axis=1), (~below_mask).argmax(axis=1))
        triangles = np.arange(len(crossed))
        apex = corners[triangles, alone]
        ends = []
        for other in (1, 2):
            far = corners[triangles, (alone + other) % 3]
            share = (height - apex[:, 2]) / (far[:, 2] - apex[:, 2])
            ends.append(np.ascontiguousarray((apex[:, :2] + share[:, None] * (far[:, :2] - apex[:, :2])).T))
            ends[-1].flags.writeable = False
        return ends[0], ends[1]


def grid_triangles(columns: int, lines: int) -> Ints:
    """Return the triangles (T, 3) of a grid of points, numbered line by line; seen from above counter-clockwise."""
    first = (np.arange(lines - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    right, above, across = first + 1, first + columns, first + columns + 1
    return np.concatenate((np.stack((first, right, above), axis=1), np.stack((right, across, above), axis=1)))
