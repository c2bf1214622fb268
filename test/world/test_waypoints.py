"""The pool of waypoints: every path stays whole while others come and go."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.world.schema import MotionColumns
from fleet_sim.world.waypoints import WaypointPool

ROWS = 6
changes = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 90)), max_size=80)


@given(changes)
def test_paths_stay_whole(history: list[tuple[int, int]]) -> None:
    motion, pool = MotionColumns(ROWS), WaypointPool()
    expected: dict[int, list[float]] = {}
    for serial, (row, length) in enumerate(history):
        rows = np.array([row])
        if length:
            points = np.repeat(1000.0 * serial + np.arange(length), 3).reshape(length, 3)
            pool.assign(motion, rows, np.array([length]), points, np.zeros((length, 4)))
            expected[row] = points[:, 0].tolist()
        else:
            pool.discard(motion, rows)
            expected.pop(row, None)
    for row in range(ROWS):
        assert pool.position[pool.of(motion, row), 0].tolist() == expected.get(row, [])
    assert pool.live == sum(map(len, expected.values()))


def test_abandoned_paths_do_not_pile_up() -> None:
    motion, pool = MotionColumns(2), WaypointPool()
    for _ in range(10_000):
        pool.assign(motion, np.array([0, 1]), np.array([1, 2]), np.zeros((3, 3)), np.zeros((3, 4)))
    assert pool.live == 3
    assert len(pool.position) <= 256
