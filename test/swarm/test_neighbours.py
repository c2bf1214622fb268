"""Pairs of near points, compared with all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.swarm.neighbours import both_ways, counts, is_limited, pairs_within, targets_within


@pytest.mark.parametrize("reach", [0.0, 0.05, 0.4, 3.0, 100.0])
@pytest.mark.parametrize("count", [0, 1, 2, 150])
def test_the_grid_finds_what_comparing_all_finds(count: int, reach: float) -> None:
    random = np.random.default_rng(count)
    points = random.uniform(-3.0, 3.0, (count, 2)) * [1.0, 0.2]
    points[: count // 5] = points[count // 5 : 2 * (count // 5)]  # some in one place
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    first, second = np.nonzero(np.triu(squares <= reach**2, 1))
    found = pairs_within(points, reach)
    assert [part.tolist() for part in found] == [first.tolist(), second.tolist()]
    origins = random.uniform(-4.0, 4.0, (7, 2))
    squares = ((origins[:, None] - points[None]) ** 2).sum(axis=2)
    wanted = np.nonzero(squares <= reach**2)
    assert [part.tolist() for part in targets_within(origins, points, reach)] == [part.tolist() for part in wanted]


def test_both_ways_gives_each_owner_its_others_in_order() -> None:
    owner, other = both_ways(*pairs_within(np.zeros((4, 2)), 1.0))
    for row in range(4):
        assert other[owner == row].tolist() == [k for k in range(4) if k != row]
    assert counts(owner, 5).tolist() == [3, 3, 3, 3, 0]


def test_a_reach_is_limited_where_a_grid_helps() -> None:
    points = np.array([(0.0, 0.0), (10.0, 1.0)])
    assert is_limited(1.0, points)
    assert not is_limited(8.0, points)
    assert not is_limited(np.inf, points)
