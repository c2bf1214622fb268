"""Circle fits, the Delaunay triangulation and what is computed with them, on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from swarm_world import make_world

from fleet_sim.base.arrays import Floats
from fleet_sim.swarm.metrics.shape import (
    FITS,
    Circle,
    circularity,
    delaunay_diffusion,
    delaunay_edges,
    instant_circularity,
    least_squares,
    taubin,
)

SQUARE = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
LINE = np.stack((np.arange(5.0), 2.0 * np.arange(5.0)), axis=1)


def arc(radius: float, share: float, count: int = 20) -> Floats:
    angles = np.linspace(0.0, 2.0 * np.pi * share, count, endpoint=False)
    return np.array([7.0, -3.0]) + radius * np.stack((np.cos(angles), np.sin(angles)), axis=1)


@pytest.mark.parametrize("fit", FITS.values(), ids=list(FITS))
def test_every_fit_finds_a_circle_that_is_there(fit: object) -> None:
    assert callable(fit)
    for points in (arc(2.0, 1.0), arc(0.3, 0.25), SQUARE[:3]):
        circle = fit(points)
        assert circle.residual(points) == pytest.approx(0.0, abs=1e-9)
    assert fit(arc(2.0, 0.4)) == pytest.approx((7.0, -3.0, 2.0))
    for points in (LINE, LINE[:2], np.zeros((4, 2))):
        assert fit(points) is None


def test_circularity() -> None:
    assert circularity(arc(2.0, 1.0)) == pytest.approx(1.0)
    # Distances 1 and 1.2 twice each, about the middle of a cross: Taubin's radius is the root of their mean square.
    cross = np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.2), (0.0, -1.2)])
    radius = np.sqrt(1.22)
    gaps = np.array([1.0, 1.2]) - radius
    assert circularity(cross, taubin) == pytest.approx(1.0 - np.sqrt(np.mean(gaps**2)) / radius)
    # Of a long cross a line is the better fit.
    assert taubin(cross * [1.0, 5.0]) is None
    assert np.isnan(circularity(LINE)) and np.isnan(instant_circularity(LINE, taubin))
    # About the origin the centre is 0, and what is left is the root of the sum of squares over r.
    assert instant_circularity(arc(2.0, 1.0) - [7.0, -3.0], taubin) == pytest.approx(np.sqrt(20.0))
    world = make_world("static", positions=0.2 * arc(2.0, 1.0) + [1.0, 3.0])
    metrics = [world.add_metric({"type": "circularity", "name": fit, "fit": fit}) for fit in FITS]
    world.step()
    assert [metric.value for metric in metrics] == pytest.approx([1.0] * 4)


def misfits(points: Floats, reach: float) -> Floats:
    """Return the sums of squared distances from the best circles with middles `reach` away, in many directions."""
    angles = np.linspace(-np.pi, np.pi, 721)
    middles = points.mean(axis=0) + reach * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    distances = np.hypot(*(points[:, None] - middles).T)
    return ((distances - distances.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)


@pytest.mark.parametrize("seed", range(12))
def test_the_geometric_fit_is_better_than_lines_and_than_circles_about_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(0.0, 6.0, (8, 2)) * rng.uniform(0.2, 1.0, 2)
    offsets = points - points.mean(axis=0)
    line = np.linalg.svd(offsets)[1][1] ** 2
    circle = least_squares(points)
    if circle is None:
        # Far away circles come as near as the line, and none nearer.
        assert min(misfits(points, reach).min() for reach in (3.0, 30.0, 300.0)) > 0.9 * line
        return
    misfit = len(points) * circle.residual(points) ** 2
    assert misfit < line
    # Of a step in any direction the misfit grows.
    reach = 1e-3 * circle.radius
    beside = [Circle(circle.x + reach * np.cos(a), circle.y + reach * np.sin(a), 0.0) for a in np.linspace(0, 6, 12)]
    for other in beside:
        distances = other.distances(points)
        assert ((distances - distances.mean()) ** 2).sum() >= misfit


def test_triangulations() -> None:
    triangle = SQUARE[:3]
    assert delaunay_edges(triangle).tolist() == [[0, 1], [0, 2], [1, 2]]
    middle = np.concatenate((SQUARE, [(1.0, 1.2)]))
    assert delaunay_edges(middle).tolist() == [[0, 1], [0, 3], [0, 4], [1, 2], [1, 4], [2, 3], [2, 4], [3, 4]]
    # A point on a side of the hull, and one in the place of another.
    split = np.concatenate((triangle, [(1.0, 0.0), (2.0, 2.0)]))
    assert delaunay_edges(split).tolist() == [[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    for points in (LINE, LINE[:2], np.zeros((3, 2))):
        assert not len(delaunay_edges(points))


def test_triangulations_have_empty_circles() -> None:
    points = np.random.default_rng(11).uniform(-2.0, 3.0, (40, 2))
    known = {tuple(edge) for edge in delaunay_edges(points).tolist()}
    # By its definition: two points are neighbours where some circle through both holds no other one.
    for i in range(40):
        for j in range(i + 1, 40):
            assert ((i, j) in known) == _some_circle_is_empty(points, i, j)


def _some_circle_is_empty(points: Floats, i: int, j: int) -> bool:
    middle, side = 0.5 * (points[i] + points[j]), points[j] - points[i]
    normal = np.array([-side[1], side[0]])
    low, high = -np.inf, np.inf
    for k in set(range(len(points))) - {i, j}:
        offset = points[k] - middle
        height, excess = 2.0 * float(offset @ normal), float(offset @ offset - 0.25 * side @ side)
        # With its centre at middle + t normal, the circle holds k where t height > excess.
        low, high = (low, min(high, excess / height)) if height > 0.0 else (max(low, excess / height), high)
    return low < high


def test_grids_are_triangulated_whole() -> None:
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    # Euler: 3 N - 3 - H sides, with H points on the hull.
    assert len(delaunay_edges(grid)) == 3 * 30 - 3 - 18


def test_diffusion() -> None:
    # Sides 2, 2, 2, 2 and a diagonal: mean (8 + 2 sqrt 2) / 5.
    lengths = np.array([2.0, 2.0, 2.0, 2.0, np.sqrt(8.0)])
    assert delaunay_diffusion(SQUARE) == pytest.approx(4.0 / (1.0 + 10.0 * lengths.var()))
    assert np.isnan(delaunay_diffusion(LINE))
