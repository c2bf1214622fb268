"""World boxes around shapes: tight, and the same bits in any company."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim.arrays import Floats
from fleet_sim.core.shapes import Geometry, half_extents_of
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.aabbs import world_aabbs
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

KINDS = [ShapeKind.BOX, ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CAPSULE, ShapeKind.MESH]


def half_of(kind: int, box: Floats, radius: float, height: float) -> tuple[float, ...]:
    if kind == ShapeKind.MESH:
        return tuple(box.tolist())
    x, y, z = box.tolist()
    return half_extents_of(Geometry(int(kind), (x, y, z), radius, height))


def random_shapes(seed: int, count: int, *, turned: str) -> ShapeArrays:
    rng = np.random.default_rng(seed)
    kinds = rng.choice(np.array(KINDS), count)
    radii, heights = rng.uniform(0.1, 0.9, count), rng.uniform(0.1, 2.0, count)
    boxes = rng.uniform(0.05, 1.0, (count, 3))
    half = np.array([half_of(*shape) for shape in zip(kinds, boxes, radii, heights, strict=True)])
    orientations = np.tile(quaternions.IDENTITY, (count, 1))
    if turned == "yaw":
        orientations = quaternions.from_yaws(rng.uniform(-4.0, 4.0, count))
    elif turned == "all":
        orientations = quaternions.normalized(rng.normal(size=(count, 4)))
    return ShapeArrays(kinds, rng.uniform(-5.0, 5.0, (count, 3)), orientations, half, radii)


def surface_points(shapes: ShapeArrays, row: int) -> Floats:
    """Return many points of the surface of one shape, in the world."""
    angles = np.linspace(0.0, 2.0 * np.pi, 361)
    circle = np.stack((np.cos(angles), np.sin(angles), np.zeros_like(angles)), axis=1)
    half, radius = shapes.half_extents[row], shapes.radii[row]
    kind = shapes.kinds[row]
    if kind in (ShapeKind.BOX, ShapeKind.MESH):
        points = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    elif kind == ShapeKind.CYLINDER:
        points = np.concatenate([circle * radius + [0, 0, z] for z in (-half[2], half[2])])
    else:
        latitudes = np.linspace(-np.pi / 2, np.pi / 2, 181)
        ball = np.concatenate([circle * np.cos(angle) * radius + [0, 0, np.sin(angle) * radius] for angle in latitudes])
        tip = half[2] - radius if kind == ShapeKind.CAPSULE else 0.0
        points = np.concatenate([ball + [0, 0, tip], ball - [0, 0, tip]])
    turn = np.tile(shapes.orientations[row], (len(points), 1))
    return quaternions.rotate(turn, points) + shapes.positions[row]


@pytest.mark.parametrize("turned", ["not", "yaw", "all"])
def test_boxes_are_the_smallest_around_the_surface(turned: str) -> None:
    shapes = random_shapes(1, 60, turned=turned)
    lower, upper = world_aabbs(*shapes)
    for row in range(60):
        points = surface_points(shapes, row)
        assert (points >= lower[row] - 1e-9).all() and (points <= upper[row] + 1e-9).all()
        np.testing.assert_allclose(points.min(axis=0), lower[row], atol=5e-4)
        np.testing.assert_allclose(points.max(axis=0), upper[row], atol=5e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["not", "yaw", "all"]), st.integers(1, 40))
def test_a_row_has_the_same_bits_alone_and_with_turned_company(seed: int, turned: str, count: int) -> None:
    shapes = random_shapes(seed, count, turned=turned)
    company = random_shapes(seed + 1, 33, turned="all")
    together = ShapeArrays(*(np.concatenate(parts) for parts in zip(company, shapes, strict=True)))
    lower, upper = world_aabbs(*together)
    for row in range(count):
        alone_lower, alone_upper = world_aabbs(*shapes.take(np.array([row])))
        assert (alone_lower[0] == lower[33 + row]).all() and (alone_upper[0] == upper[33 + row]).all()


def test_planes_have_no_end_but_their_height_and_nothing_is_a_point() -> None:
    tilted = quaternions.from_eulers(np.array([[0.3, 0.0, 0.0]]))[0]
    kinds = np.array([ShapeKind.PLANE, ShapeKind.PLANE, ShapeKind.NONE])
    positions = np.array([[1.0, 2.0, 3.0]] * 3)
    orientations = np.stack([quaternions.IDENTITY, tilted, tilted])
    lower, upper = world_aabbs(kinds, positions, orientations, np.zeros((3, 3)), np.zeros(3))
    assert (lower[:2] == -np.inf).all() and (upper[1] == np.inf).all()
    assert upper[0].tolist() == [np.inf, np.inf, 3.0]
    assert lower[2].tolist() == upper[2].tolist() == [1.0, 2.0, 3.0]


def test_no_rows() -> None:
    empty = np.empty((0, 3))
    lower, upper = world_aabbs(np.empty(0, np.uint8), empty, np.empty((0, 4)), empty, np.empty(0))
    assert lower.shape == upper.shape == (0, 3)
