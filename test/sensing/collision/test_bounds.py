"""World boxes of what has no end, no shape or corners of its own; oracles/test_distances.py has the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fleet_sim.base.kernels import is_usable
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.bounds import world_aabbs, write_bounds


def test_planes_have_no_end_but_their_height_and_nothing_is_a_point() -> None:
    tilted = quaternions.from_eulers(np.array([[0.3, 0.0, 0.0]]))[0]
    kinds = np.array([ShapeKind.PLANE, ShapeKind.PLANE, ShapeKind.NONE], np.uint8)
    positions = np.array([[1.0, 2.0, 3.0]] * 3)
    orientations = np.stack([quaternions.IDENTITY, tilted, tilted])
    lower, upper = world_aabbs(kinds, positions, orientations, np.zeros((3, 3)), np.zeros(3))
    assert (lower[:2] == -np.inf).all() and (upper[1] == np.inf).all()
    assert upper[0].tolist() == [np.inf, np.inf, 3.0]
    assert lower[2].tolist() == upper[2].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", [ShapeKind.MESH, ShapeKind.COMPOUND])
def test_of_meshes_the_turned_box_is_inside(kind: ShapeKind) -> None:
    turn, half = quaternions.from_eulers(np.array([[0.7, -0.4, 1.9]])), np.array([[0.3, 0.5, 0.9]])
    place = np.array([[1.0, 2.0, 3.0]])
    lower, upper = world_aabbs(np.array([kind], np.uint8), place, turn, half, np.zeros(1))
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half
    points = quaternions.rotate(np.repeat(turn, 8, axis=0), corners) + place
    np.testing.assert_allclose([lower[0], upper[0]], [points.min(axis=0), points.max(axis=0)], atol=1e-12)


@pytest.mark.skipif(not is_usable(), reason="needs numba")
def test_compiled_boxes_are_the_same_bits_and_only_those_asked_for() -> None:
    rng = np.random.default_rng(5)
    shapes = ShapeArrays(
        rng.integers(0, len(ShapeKind), 600).astype(np.uint8),
        rng.uniform(-50.0, 50.0, (600, 3)),
        quaternions.normalized(rng.normal(size=(600, 4))),
        rng.uniform(0.5, 2.0, (600, 3)),
        rng.uniform(0.1, 0.5, 600),
    )
    own = rng.random(600) < 0.5, rng.uniform(-1.0, 1.0, (600, 3)), quaternions.normalized(rng.normal(size=(600, 4)))
    behind_mask = np.arange(600) % 3 != 0
    told = []
    for kernel in (write_bounds, write_bounds.in_python):
        left, corners = behind_mask.copy(), np.full((2, 600, 3), 7.0)
        assert kernel(left, *shapes, *own, *corners) == np.count_nonzero(behind_mask)
        assert not left.any() and (corners[:, ~behind_mask] == 7.0).all()
        told.append(corners.tobytes())
    assert told[0] == told[1]
