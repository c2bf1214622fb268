"""The point of a simplex nearest to the origin, which exact distances are made of: checked by what makes it so."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.arrays import Floats

pytest.importorskip("numba")

from fleet_sim.sensing.collision.convex import SHARE, nearest_on_simplex


def nearest(corners: Floats) -> tuple[float, Floats, Floats]:
    """Return the squared distance (-1: the origin is inside), the nearest point, and the shares of the corners."""
    simplex = np.zeros((4, 8))
    simplex[: len(corners), :3] = corners
    square = nearest_on_simplex(simplex, len(corners))
    shares = simplex[: len(corners), SHARE].copy()
    return square, shares @ corners, shares


def check_nearest(corners: Floats) -> float:
    """Check the point found by the condition that only the nearest one fulfils; return its squared distance."""
    square, point, shares = nearest(corners)
    size = float(np.abs(corners).max())
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)
    assert square == pytest.approx(point @ point, abs=1e-9 * size * size)
    # No corner is nearer to the origin than the plane through the point, across the line to it.
    assert (corners @ point).min() >= point @ point - 1e-9 * size * size
    return square


@pytest.mark.parametrize("count", [1, 2, 3])
def test_points_lines_and_triangles_anywhere(count: int) -> None:
    rng = np.random.default_rng(count)
    for corners in rng.normal(size=(300, count, 3)) + rng.normal(size=(300, 1, 3)):
        check_nearest(corners)


def test_tetrahedra_say_whether_the_origin_is_inside() -> None:
    rng = np.random.default_rng(4)
    found = []
    for corners in rng.normal(size=(500, 4, 3)):
        # The shares of the origin itself: all are positive where it is inside.
        shares = np.linalg.solve(np.vstack((corners.T, np.ones(4))), np.array([0.0, 0.0, 0.0, 1.0]))
        square, *_ = nearest(corners)
        assert (square == -1.0) == bool(shares.min() > 0.0)
        found.append(square)
        if square >= 0.0:
            check_nearest(corners)
    # Both happen, or the test says nothing.
    assert 20 < found.count(-1.0) < 480


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_flat_tetrahedra_have_no_inside(axis: int) -> None:
    rng = np.random.default_rng(axis)
    for corners in rng.normal(size=(100, 4, 3)):
        corners[:, axis] = 0.5
        assert check_nearest(corners) >= 0.25 - 1e-12


def test_corners_on_one_line_or_at_one_point() -> None:
    rng = np.random.default_rng(9)
    for _ in range(100):
        begin, along = rng.normal(size=(2, 3))
        for count in (2, 3, 4):
            check_nearest(begin + rng.normal(size=(count, 1)) * along)
            assert check_nearest(np.tile(begin, (count, 1))) == pytest.approx(begin @ begin)


def test_the_nearest_corner_edge_and_face_of_a_known_tetrahedron() -> None:
    corners = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    square, point, shares = nearest(corners)
    assert square == pytest.approx(1.0 / 3.0)
    assert point.tolist() == pytest.approx([1.0 / 3.0] * 3)
    assert shares.tolist() == pytest.approx([1.0 / 3.0] * 3 + [0.0])
    # A corner at the origin touches it.
    assert nearest(corners - [0.0, 0.0, 1.0])[0] == -1.0
    square, point, _ = nearest(corners[:2] + [0.0, 0.0, 2.0])
    assert square == pytest.approx(4.5)
    assert point.tolist() == pytest.approx([0.5, 0.5, 2.0])
    square, point, _ = nearest(corners + [3.0, 0.0, 0.0])
    assert point.tolist() != [4.0, 0.0, 0.0]
    assert square == pytest.approx(check_nearest(corners + [3.0, 0.0, 0.0]))
