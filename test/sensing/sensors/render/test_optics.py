"""Intrinsics: to pixels and back, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.sensing.sensors.render.shot import Intrinsics, optical_orientations


def test_the_edges_of_the_picture_are_the_opening_angle() -> None:
    lens = Intrinsics.from_fov(320, 240, 1.2)
    left = np.array([[-math.tan(0.6), 0.0, 1.0]])
    np.testing.assert_allclose(lens.project(left), [[-0.5, 119.5]])
    tall = Intrinsics.from_vertical_fov(320, 240, 1.2)
    np.testing.assert_allclose(tall.project(np.array([[0.0, math.tan(0.6), 1.0]])), [[159.5, 239.5]])


def test_the_camera_matrix_projects_as_project_does() -> None:
    lens = Intrinsics(64, 48, 50.0, 60.0, 30.0, 25.0)
    points = np.random.default_rng(0).uniform(0.5, 3.0, (20, 3))
    seen = (lens.matrix @ points.T).T
    np.testing.assert_allclose(seen[:, :2] / seen[:, 2:], lens.project(points))


def test_depth_becomes_points_that_project_to_their_pixels() -> None:
    lens = Intrinsics(6, 4, 50.0, 60.0, 2.2, 1.7)
    depth = np.random.default_rng(0).uniform(0.5, 3.0, (4, 6)).astype(np.float32)
    depth[1, 2] = np.inf
    points = lens.back_project(depth)
    assert points.dtype == np.float32 and np.isnan(points[1, 2]).all()
    lines, columns = np.nonzero(np.isfinite(depth))
    pixels = lens.project(points[lines, columns].astype(float))
    np.testing.assert_allclose(pixels, np.column_stack([columns, lines]), atol=1e-4)


def test_the_optical_frame_looks_where_the_body_looks() -> None:
    turn = optical_orientations(quaternions.from_yaws(np.array([0.5 * np.pi])))
    axes = quaternions.to_matrices(turn)[0]
    np.testing.assert_allclose(axes, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 240, 1.0), "width.*got 0"),
        ((320, 10_000, 1.0), "height.*8192"),
        ((320, 240.0, 1.0), "height"),
        ((320, 240, 0.0), "horizontal_fov"),
        ((320, 240, 4.0), "horizontal_fov"),
        ((320, 240, float("nan")), "horizontal_fov"),
    ],
)
def test_impossible_intrinsics_are_refused(arguments: tuple[int, int, float], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        Intrinsics.from_fov(*arguments)


def test_a_focal_length_of_zero_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="fy"):
        Intrinsics(10, 10, 5.0, 0.0, 5.0, 5.0)
