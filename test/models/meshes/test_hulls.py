"""Meshes as sensors see them: as their convex hulls, also on the links of robots."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.meshes.loading import Hull, hull_faces, hull_of
from fleet_sim.world.shapes import Geometry

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


def rock(seed: int, count: int = 60) -> Floats:
    """Return points (N, 3) on an uneven ball, and inside it."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    return 0.5 * points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.3, 1.0, (count, 1)) * [1.0, 0.7, 0.5]


def test_a_hull_is_convex_and_holds_all_points() -> None:
    for seed in range(5):
        points = rock(seed)
        faces = hull_faces(points)
        a, b, c = (points[faces[:, corner]] for corner in range(3))
        normals = np.cross(b - a, c - a)
        assert ((points[:, None] - a[None]) * normals).sum(axis=2).max() < 1e-12
        # Closed: each edge belongs to two faces, once in each direction.
        edges = {(int(face[i]), int(face[(i + 1) % 3])) for face in faces for i in range(3)}
        assert len(edges) == 3 * len(faces)
        assert {(end, start) for start, end in edges} == edges


def test_the_hull_of_a_box_is_the_box() -> None:
    corners = np.array([[x, y, z] for x in (0.0, 2.0) for y in (-1.0, 1.0) for z in (3.0, 3.5)])
    inside = np.random.default_rng(0).uniform(0.1, 0.9, (200, 3)) * [2.0, 2.0, 0.5] + [0.0, -1.0, 3.0]
    hull = Hull(np.concatenate((inside, corners)))
    assert hull.centre.tolist() == [1.0, 0.0, 3.25]
    assert hull.half_extents.tolist() == [1.0, 1.0, 0.25]
    assert len(hull.vertices) == 8
    assert hull.radius == pytest.approx(math.sqrt(2.0 + 0.25**2))
    with pytest.raises(ValueError, match="read-only"):
        hull.vertices[0] = 0.0


@pytest.mark.parametrize("points", [[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [1, 1, 1]], [[1, 2, 3]]])
def test_what_is_flat_is_a_thin_plate(points: list[list[float]]) -> None:
    hull = Hull(np.array(points, np.float64))
    assert len(hull.edges) >= 6
    assert hull.half_extents.min() >= 5e-5


def test_broken_meshes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fs.InvalidValueError, match="cannot be read"):
        hull_of(Geometry(ShapeKind.MESH, mesh_path=str(tmp_path / "none.obj")))
