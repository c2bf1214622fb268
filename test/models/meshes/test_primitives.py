"""Solids as triangles: closed, turned outwards, as large as they should be, and as fine as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.models.meshes import mesh as primitives
from fleet_sim.models.meshes.mesh import CREASE, Mesh, Part, smooth

FINEST = len(primitives.SEGMENTS) - 1
SOLIDS = {
    "box": (primitives.box(), (1.0, 1.0, 1.0), 8.0),
    "sphere": (primitives.sphere(FINEST), (1.0, 1.0, 1.0), 4.0 / 3.0 * np.pi),
    "cylinder": (primitives.cylinder(FINEST), (1.0, 1.0, 1.0), 2.0 * np.pi),
    "capsule": (primitives.capsule(FINEST, 0.5, 3.0), (0.5, 0.5, 2.0), np.pi * (0.25 * 3.0 + 4.0 / 3.0 * 0.125)),
    "coarse capsule": (primitives.capsule(0, 0.5, 3.0), (0.5, 0.5, 2.0), None),
}


@pytest.mark.parametrize(("mesh", "reach", "volume"), SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_of_the_right_size(mesh: Mesh, reach: tuple[float, ...], volume: float | None) -> None:
    (part,) = mesh.parts
    points = part.positions
    np.testing.assert_allclose(mesh.reach, reach, atol=1e-6)
    a, b, c = (points[part.triangles[:, corner]] for corner in range(3))
    # The volume is that of the cones from the origin to all triangles: right only if all are turned outwards.
    filled = float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0
    if volume is not None:
        assert filled == pytest.approx(volume, rel=0.01)
    # Each edge belongs to two triangles, which run along it in opposite directions.
    _, places = np.unique(points.round(6), axis=0, return_inverse=True)
    corners = places.reshape(-1)[part.triangles]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    assert sorted(map(tuple, edges.tolist())) == sorted(map(tuple, edges[:, ::-1].tolist()))


@pytest.mark.parametrize("mesh", [solid[0] for solid in SOLIDS.values()], ids=SOLIDS)
def test_normals_are_units_and_point_outwards(mesh: Mesh) -> None:
    (part,) = mesh.parts
    normals = part.normals
    assert normals is not None
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
    a, b, c = (part.positions[part.triangles[:, corner]] for corner in range(3))
    faces = np.cross(b - a, c - a)
    assert (np.einsum("ij,ij->i", faces, normals[part.triangles[:, 0]]) > 0.0).all()


def test_levels_of_detail_keep_their_promise() -> None:
    """Up to its radius in pixels, a level's polygon is a quarter of a pixel from the circle at most."""
    for sides, radius in zip(primitives.SEGMENTS, primitives.LEVEL_RADII, strict=False):
        assert radius * (1.0 - np.cos(np.pi / sides)) == pytest.approx(0.25)


def test_bounds_hold_the_mesh_at_any_scale() -> None:
    mesh = primitives.box()
    scale = np.array([3.0, 0.5, 0.1])
    assert mesh.bound(scale) == pytest.approx(np.linalg.norm(scale))
    assert primitives.sphere(FINEST).bound(np.full(3, 2.0)) == pytest.approx(2.0, rel=1e-6)


def test_made_normals_are_smooth_but_for_sharp_edges() -> None:
    """A sphere without normals gets those of a sphere, a box those of its sides."""
    ball = primitives.sphere(3).parts[0]
    vertices = Part(ball.positions, ball.triangles).drawable().vertices
    np.testing.assert_allclose(vertices[:, 3:6], vertices[:, :3], atol=0.03)
    cube = primitives.box().parts[0]
    vertices = Part(cube.positions, cube.triangles).drawable().vertices
    assert (np.abs(vertices[:, 3:6]).max(1) > 0.999).all()
    assert 0.7 < CREASE < 0.8


def test_an_empty_mesh_has_no_normals() -> None:
    assert smooth(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)
