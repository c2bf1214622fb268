"""The nearest allowed velocity, compared with a search over all corners."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fleet_sim.robots.motion.orca import HalfPlanes, nearest_allowed


def planes_of(rows: list[list[tuple[float, float, float]]], hard: list[int] | None = None) -> HalfPlanes:
    """Half-planes from (x, y, angle of the edge) by row."""
    depth = max(map(len, rows))
    table = np.zeros((4, depth, len(rows)))
    for row, entries in enumerate(rows):
        for k, (x, y, angle) in enumerate(entries):
            table[:, k, row] = x, y, np.cos(angle), np.sin(angle)
    return HalfPlanes(*table, np.array([len(row) for row in rows]), np.array(hard or [0] * len(rows)))


def violation(planes: HalfPlanes, row: int, x: float, y: float, begin: int = 0) -> float:
    """The largest distance of a point outside the half-planes of a row, from `begin` on; at least 0."""
    one = planes.take(np.array([row]))
    at = np.array([x]), np.array([y])
    return max([0.0, *(float(one.excess(k, *at)[0]) for k in range(begin, int(planes.counts[row])))])


def best_by_search(planes: HalfPlanes, row: int, wanted: tuple[float, float], radius: float) -> float:
    """The least distance to `wanted` over all corners, feet and circle points that are allowed; inf: none."""
    edges = [
        (planes.x[k, row], planes.y[k, row], planes.along_x[k, row], planes.along_y[k, row])
        for k in range(int(planes.counts[row]))
    ]
    size = np.hypot(*wanted)
    points = [wanted if size <= radius else (wanted[0] * radius / size, wanted[1] * radius / size)]
    for x, y, along_x, along_y in edges:
        share = (wanted[0] - x) * along_x + (wanted[1] - y) * along_y
        points.append((x + share * along_x, y + share * along_y))
        middle = x * along_x + y * along_y
        square = middle**2 + radius**2 - x**2 - y**2
        if square >= 0.0:
            ends = (-np.sqrt(square) - middle, np.sqrt(square) - middle)
            points += [(x + end * along_x, y + end * along_y) for end in ends]
    for one, other in itertools.combinations(edges, 2):
        turn = one[2] * other[3] - one[3] * other[2]
        if abs(turn) > 1e-9:
            share = (other[2] * (one[1] - other[1]) - other[3] * (one[0] - other[0])) / turn
            points.append((one[0] + share * one[2], one[1] + share * one[3]))
    allowed = [
        np.hypot(x - wanted[0], y - wanted[1])
        for x, y in points
        if np.hypot(x, y) <= radius + 1e-9 and violation(planes, row, x, y) <= 1e-9
    ]
    return min(allowed, default=np.inf)


@pytest.fixture(scope="module")
def case() -> tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    rows = []
    for _ in range(400):
        count = random.integers(0, 7)
        rows.append([(*random.uniform(-1.2, 1.2, 2), random.uniform(-np.pi, np.pi)) for _ in range(count)])
    return planes_of(rows), *random.uniform(-2.0, 2.0, (2, 400)), random.uniform(0.5, 1.5, 400)


def test_the_answer_is_the_nearest_allowed_point(case: tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray]) -> None:
    planes, wanted_x, wanted_y, radii = case
    x, y = nearest_allowed(planes, wanted_x, wanted_y, radii)
    possible = 0
    for row in range(len(x)):
        best = best_by_search(planes, row, (wanted_x[row], wanted_y[row]), radii[row])
        assert np.hypot(x[row], y[row]) <= radii[row] + 1e-9
        if np.isfinite(best):
            possible += 1
            assert violation(planes, row, x[row], y[row]) <= 1e-9
            assert np.hypot(x[row] - wanted_x[row], y[row] - wanted_y[row]) == pytest.approx(best, abs=1e-7)
    assert 100 < possible < 350


def test_where_nothing_is_allowed_the_largest_violation_is_least(
    case: tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    planes, wanted_x, wanted_y, radii = case
    x, y = nearest_allowed(planes, wanted_x, wanted_y, radii)
    random = np.random.default_rng(4)
    angles, sizes = random.uniform(-np.pi, np.pi, 500), np.sqrt(random.random(500))
    impossible = 0
    for row in range(len(x)):
        mine = violation(planes, row, x[row], y[row])
        if mine > 1e-9:
            impossible += 1
            one = planes.take(np.array([row]))
            tried_x, tried_y = sizes * radii[row] * np.cos(angles), sizes * radii[row] * np.sin(angles)
            worst = np.max([one.excess(k, tried_x, tried_y) for k in range(int(planes.counts[row]))], axis=0)
            assert mine <= worst.min() + 1e-7
    assert impossible > 20


def test_rows_do_not_see_each_other(case: tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray]) -> None:
    planes, wanted_x, wanted_y, radii = case
    x, y = nearest_allowed(planes, wanted_x, wanted_y, radii)
    for row in range(0, 400, 7):
        at = np.array([row])
        alone = nearest_allowed(planes.take(at), wanted_x[at], wanted_y[at], radii[at])
        assert (alone[0][0], alone[1][0]) == (x[row], y[row])


def test_hard_half_planes_are_kept_while_others_give_way() -> None:
    # A wall below y = 0 (allowed above), and somebody who wants y <= -0.5.
    edges = [(0.0, 0.0, 0.0), (0.0, -0.5, np.pi)]
    for hard, expected in ((1, 0.0), (0, -0.25)):
        _, y = nearest_allowed(planes_of([edges], [hard]), np.array([0.3]), np.array([0.0]), np.array([1.0]))
        assert y[0] == pytest.approx(expected, abs=1e-9)
