"""Paths of many waypoints."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import DIFFERENTIAL, OMNI, Fleet

LINE = np.c_[np.linspace(0.0, 10.0, 101), np.zeros((101, 2))]


@pytest.mark.parametrize("law", [OMNI, DIFFERENTIAL])
@pytest.mark.parametrize("count", [2, 17, 101, 1001])
def test_waypoints_on_a_line_cost_nothing(law: str, count: int) -> None:
    fleet = Fleet(law)
    fleet.send(np.c_[np.linspace(0.0, 10.0, count), np.zeros((count, 2))])
    assert fleet.finish() <= 55
    assert fleet.world.position[0].tolist() == [10.0, 0.0, 0.0]


@pytest.mark.parametrize("count", [16, 64, 500])
def test_a_circle_is_driven_round_without_stopping(count: int) -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, count + 1)
    points = np.c_[2.0 * np.cos(angles), 2.0 * np.sin(angles), np.zeros(count + 1)]
    fleet = Fleet()
    fleet.world.position[0] = points[0]
    fleet.send(points)
    steps = fleet.finish()
    assert steps < 130
    assert fleet.record.speeds()[5:-6].min() > 0.6
    assert np.allclose(
        np.linalg.norm(fleet.record.positions[1:], axis=2), 2.0, atol=2.0 * (1 - np.cos(np.pi / count)) + 1e-9
    )


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([0.005, 0.05, 0.3, 2.0]),
    law=st.sampled_from([OMNI, DIFFERENTIAL]),
    dt=st.sampled_from([0.02, 0.1, 0.4]),
)
@pytest.mark.slow
def test_random_paths_keep_the_limits_and_end_exactly(seed: int, scale: float, law: str, dt: float) -> None:
    random = np.random.default_rng(seed)
    paths = [random.normal(size=(random.integers(1, 8), 3)) * scale for _ in range(6)]
    fleet = Fleet(law, count=6, dt=dt)
    fleet.send(*paths)
    fleet.finish()
    for row, path in enumerate(paths):
        assert fleet.world.position[row].tolist() == path[-1].tolist()
    assert fleet.record.speeds().max() <= 2.0 * (1 + 1e-9)
    assert fleet.record.speed_changes().max() <= 5.0 * dt * (1 + 1e-6)


def test_repeated_waypoints_and_one_at_the_start() -> None:
    for law in (OMNI, DIFFERENTIAL):
        fleet = Fleet(law)
        fleet.send([[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0]])
        fleet.finish(100)
        assert fleet.world.position[0].tolist() == [1.0, 1.0, 0.0]


def test_a_new_path_in_motion_respects_the_limits() -> None:
    for law in (OMNI, DIFFERENTIAL):
        fleet = Fleet(law)
        fleet.send([5.0, 0.0, 0.0])
        fleet.step(8)
        fleet.send([[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
        fleet.finish()
        assert fleet.record.speed_changes().max() <= 0.5 * (1 + 1e-8)
        assert fleet.world.position[0].tolist() == [0.0, 2.0, 0.0]


def test_the_final_orientation_is_that_of_the_last_waypoint() -> None:
    fleet = Fleet()
    fleet.send([[2.0, 0.0, 0.0], [2.0, 2.0, 0.0]], yaws=[-2.0, 1.0])
    fleet.step(5)
    assert fleet.world.orientation[0].tolist() == [0.0, 0.0, 0.0, 1.0]
    fleet.finish()
    assert fleet.world.orientation[0, 2] == pytest.approx(np.sin(0.5))
