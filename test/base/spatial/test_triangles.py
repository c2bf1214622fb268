"""Surfaces of triangles: rays, nearest points and cuts, beside plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial.triangles import Surface, TriangleTree, grid_triangles, nearest_on


def waves(columns: int = 13, lines: int = 11) -> Floats:
    x, y = np.meshgrid(np.arange(columns, dtype=float), np.arange(lines, dtype=float))
    points = np.stack((x, y, np.sin(x) * np.cos(0.7 * y)), axis=2).reshape(-1, 3)
    return points[grid_triangles(columns, lines)]


def test_the_nearest_point_is_the_nearest_of_all_triangles() -> None:
    corners, rng = waves(), np.random.default_rng(2)
    points = rng.uniform((-3, -3, -3), (15, 13, 3), (60, 3))
    distances, nearest, triangles = TriangleTree(corners).nearest(points, np.full(60, 4.0))
    for point, distance, found, triangle in zip(points, distances, nearest, triangles, strict=True):
        everywhere = np.broadcast_to(point, (len(corners), 3))
        gaps = np.linalg.norm(nearest_on(corners[:, 0], corners[:, 1], corners[:, 2], everywhere) - point, axis=1)
        if gaps.min() > 4.0:
            assert distance == np.inf and np.isnan(found).all() and triangle == -1
        else:
            assert distance == pytest.approx(gaps.min()) == np.linalg.norm(found - point)
            assert gaps[triangle] == pytest.approx(gaps.min())


def test_a_cut_is_at_its_height_on_the_surface_and_closed() -> None:
    surface = Surface(waves())
    for height in (0.0, 0.31, 2.0):
        starts, ends = surface.cut(height)
        points = np.concatenate((starts, ends), axis=1).T
        points = np.column_stack((points, np.full(len(points), height)))
        if height > 1.0:
            assert not len(points)
            continue
        distances, _, _ = surface.tree.nearest(points, np.full(len(points), np.inf))
        assert distances.max() < 1e-9
        # Inside of the grid every end is the beginning of another line.
        inner = points[((points[:, :2] > 1e-6) & (points[:, :2] < (12 - 1e-6, 10 - 1e-6))).all(axis=1)]
        _, counts = np.unique(inner.round(9), axis=0, return_counts=True)
        assert (counts >= 2).all()
