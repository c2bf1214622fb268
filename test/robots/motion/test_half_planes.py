"""The nearest allowed velocity, compared with a search over all corners."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def case() -> tuple[HalfPlanes, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    rows = []
    for _ in range(400):
        count = random.integers(0, 7)
        rows.append([(*random.uniform(-1.2, 1.2, 2), random.uniform(-np.pi, np.pi)) for _ in range(count)])
    return planes_of(rows), *random.uniform(-2.0, 2.0, (2, 400)), random.uniform(0.5, 1.5, 400)


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


def test_hard_half_planes_are_kept_while_others_give_way() -> None:
    # A wall below y = 0 (allowed above), and somebody who wants y <= -0.5.
    edges = [(0.0, 0.0, 0.0), (0.0, -0.5, np.pi)]
    for hard, expected in ((1, 0.0), (0, -0.25)):
        _, y = nearest_allowed(planes_of([edges], [hard]), np.array([0.3]), np.array([0.0]), np.array([1.0]))
        assert y[0] == pytest.approx(expected, abs=1e-9)
