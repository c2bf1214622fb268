"""Batch poses and component arrays."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from fleet_sim.base.arrays import Floats
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import distances_to_lines
from fleet_sim.base.spatial.triangles import Surface, TriangleTree, grid_triangles, nearest_on


def some(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(count, 3)), quaternions.normalized(random.normal(size=(count, 4)))


def test_relative_undoes_compose() -> None:
    a, b = some(50), some(50, 1)
    position, orientation = poses.relative(*a, *poses.compose(*a, *b))
    assert np.allclose(position, b[0])
    assert np.allclose(np.abs((orientation * b[1]).sum(axis=1)), 1.0)


def test_inverse() -> None:
    a = some(50)
    position, orientation = poses.compose(*a, *poses.inverse(*a))
    assert np.allclose(position, 0.0)
    assert np.allclose(np.abs(orientation[:, 3]), 1.0)


def test_a_matrix_is_the_rotation_it_was_made_from() -> None:
    turns = quaternions.normalized(np.random.default_rng(3).normal(size=(50, 4)))
    turns[:4] = np.eye(4)
    for turn, matrix in zip(turns, quaternions.to_matrices(turns), strict=True):
        found = quaternions.from_matrix(matrix)
        assert min(np.abs(found - turn).max(), np.abs(found + turn).max()) < 1e-12


# ---- Distances to lines, seen from above -----------------------------------------------------------------------------


def test_distances_to_the_line_or_to_its_nearer_end() -> None:
    points = np.array([(1.0, 2.0), (-3.0, 4.0), (5.0, -4.0), (2.0, 0.0)])
    begin, end = np.array((0.0, 0.0)), np.array((2.0, 0.0))
    expected = [2.0, 5.0, 5.0, 0.0]
    np.testing.assert_allclose(distances_to_lines(points, begin, end), expected, atol=1e-12)
    # A line for each point, at any height.
    lines = np.zeros((4, 3)), np.tile((2.0, 0.0, 7.0), (4, 1))
    np.testing.assert_allclose(distances_to_lines(np.column_stack((points, np.ones(4))), *lines), expected, atol=1e-12)


def test_a_line_of_no_length_is_its_point() -> None:
    point = np.array((1.0, 1.0))
    np.testing.assert_allclose(distances_to_lines(np.array([(4.0, 5.0)]), point, point), [5.0])


# ---- Surfaces of triangles: rays, nearest points and cuts, beside plain loops ----------------------------------------


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


# ---- trigonometry ----------------------------------------------------------------------------------------------------


Array = npt.NDArray[np.float64]
RANDOM = np.random.default_rng(0)
ANGLES = np.concatenate(
    [
        RANDOM.uniform(-10, 10, 20000),
        RANDOM.uniform(-trig.LARGEST, trig.LARGEST, 20000),
        np.arange(-99, 99) * math.pi / 4,
    ]
)
SIDES = RANDOM.normal(size=(2, 20000)) * 10.0 ** RANDOM.uniform(-9, 9, (2, 20000))

HASHING = """
import hashlib, sys
import numpy as np
from fleet_sim.base.spatial import trigonometry as trig
words = np.arange(1, 40001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(11)
units = words.astype(float) * 2.0**-53
x, y = 40.0 * units - 20.0, 3.0 * units[::-1] - 1.5
values = [*trig.sin_cos(x), trig.arctan2(y, x), trig.arcsin(units), trig.arccos(-units), trig.log(units)]
values.append(trig.exp(x))
print(hashlib.blake2b(b"".join(value.tobytes() for value in values), digest_size=8).hexdigest())
"""
HASH = "f792e9654aac15cd"


def ulps(found: Array, expected: Array) -> float:
    """Return the largest error in units in the last place; `expected` is of numpy.longdouble."""
    return float((np.abs(found - expected) / np.spacing(np.abs(expected).astype(float))).max())


def test_sines_and_cosines() -> None:
    wide = ANGLES.astype(np.longdouble)
    for found, exact in zip(trig.sin_cos(ANGLES), (np.sin(wide), np.cos(wide)), strict=True):
        assert np.abs(found - exact).max() < 2e-16
        far_mask = np.abs(exact) > 0.1
        assert ulps(found[far_mask], exact[far_mask]) < 3.0
    assert (trig.sin(np.array([0.0, -0.0])) == 0.0).all() and trig.cos(np.array([0.0])) == 1.0
    # Far away the error is that of the angle itself.
    assert trig.sin(np.array([1e9])) == pytest.approx(math.sin(1e9), abs=1e-6)
    assert np.isnan(trig.sin_cos(np.array([math.nan, math.inf]))).all()


def test_shapes_are_kept() -> None:
    assert [part.shape for part in trig.sin_cos(np.zeros((2, 3)))] == [(2, 3), (2, 3)]
    assert trig.sin(np.zeros(0)).shape == (0,)
    assert trig.arctan2(np.ones((2, 1)), np.ones(3)).shape == (2, 3)


def test_arctangents() -> None:
    y, x = SIDES
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert ulps(trig.arctan2(y, x), exact) < 2.0
    corners = np.array([(a, b) for a in (0.0, -0.0, 1.0, -1.0) for b in (0.0, -0.0, 1.0, -1.0)]).T
    assert trig.arctan2(*corners).tolist() == pytest.approx(np.arctan2(*corners).tolist(), abs=1e-15)
    assert (np.signbit(trig.arctan2(*corners)) == np.signbit(np.arctan2(*corners))).all()


@pytest.mark.parametrize(("mine", "theirs"), [(trig.arcsin, np.arcsin), (trig.arccos, np.arccos)])
def test_arcsines(mine: Callable[[Array], Array], theirs: Callable[[Array], Array]) -> None:
    values = np.concatenate([RANDOM.uniform(-1, 1, 10000), [-1.0, 0.0, 1.0]])
    exact = theirs(values.astype(np.longdouble))
    assert np.abs(mine(values) - exact).max() < 5e-16


def test_logarithms() -> None:
    values = 10.0 ** RANDOM.uniform(-300, 300, 20000)
    near = RANDOM.uniform(0.5, 2.0, 20000)
    for numbers in (values, near):
        assert ulps(trig.log(numbers), np.log(numbers.astype(np.longdouble))) < 2.0
    assert trig.log(np.array([1.0])) == 0.0


def test_powers_of_e() -> None:
    values = np.concatenate([RANDOM.uniform(-700, 700, 20000), RANDOM.uniform(-1, 1, 20000)])
    assert ulps(trig.exp(values), np.exp(values.astype(np.longdouble))) < 2.0
    assert trig.exp(np.array([0.0])) == 1.0


def test_lengths() -> None:
    x, y = SIDES
    assert ulps(trig.hypot(x, y), np.hypot(x.astype(np.longdouble), y.astype(np.longdouble))) < 2.0


def test_one_number_has_the_bits_of_many() -> None:
    angles = np.concatenate([ANGLES[::40], [0.0, 3e5, -1e12]])
    found = np.array([trig.sin_cos_of(angle) for angle in angles.tolist()])
    assert (np.array(trig.sin_cos(angles)) == found.T).all()
    y, x = SIDES[:, :500]
    assert [trig.atan2_of(*pair) for pair in zip(y.tolist(), x.tolist(), strict=True)] == trig.arctan2(y, x).tolist()
    assert all(map(math.isnan, trig.sin_cos_of(math.inf)))


def cpu_features() -> list[str]:
    """The extensions of this processor that NumPy would use."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


@pytest.mark.parametrize("disabled", ["none", "all"])
def test_the_bits_are_the_same_with_every_processor(disabled: str) -> None:
    off = " ".join(cpu_features()) if disabled == "all" else ""
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": off}
    done = subprocess.run([sys.executable, "-c", HASHING], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == HASH
