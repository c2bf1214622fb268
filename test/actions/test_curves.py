"""Curves of joints: through their points, without jumps, and not faster than they say."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.actions.curves import JointCurves
from fleet_sim.arrays import Floats


def random_curves(seed: int, *, velocities: bool) -> JointCurves:
    """Return curves of three joints through six points, unevenly spaced in time."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 2.0, 6))
    positions = rng.normal(size=(6, 3))
    return JointCurves(times, positions, rng.normal(size=(6, 3)) if velocities else None)


def sampled(curves: JointCurves, count: int) -> tuple[Floats, Floats, Floats]:
    """Return times within the curves, and the positions and velocities there."""
    times = np.linspace(curves.times[0], curves.times[-1], count + 2)[1:-1]
    found = [curves.sample(float(at)) for at in times]
    return times, np.array([position for position, _ in found]), np.array([velocity for _, velocity in found])


@pytest.mark.parametrize("velocities", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_curves_pass_their_points(seed: int, velocities: bool) -> None:
    curves = random_curves(seed, velocities=velocities)
    for at, point in zip(curves.times.tolist(), curves.positions, strict=True):
        assert curves.sample(at)[0] == pytest.approx(point)
        # Nothing jumps where one piece ends and the next begins.
        before, after = curves.sample(at - 1e-7)[0], curves.sample(at + 1e-7)[0]
        assert before == pytest.approx(after, abs=1e-5)


@pytest.mark.parametrize("velocities", [True, False])
def test_velocities_are_those_of_the_positions(velocities: bool) -> None:
    curves = random_curves(7, velocities=velocities)
    times, _, found = sampled(curves, 50)
    step = 1e-6
    for at, velocity in zip(times.tolist(), found, strict=True):
        change = curves.sample(at + step)[0] - curves.sample(at - step)[0]
        assert change / (2.0 * step) == pytest.approx(velocity, abs=1e-4)


def test_given_velocities_hold_at_their_points() -> None:
    times, positions = np.array([0.0, 1.0, 3.0]), np.array([[0.0], [1.0], [-1.0]])
    curves = JointCurves(times, positions, np.array([[0.5], [2.0], [0.0]]))
    assert curves.sample(1e-9)[1] == pytest.approx([0.5], abs=1e-6)
    assert curves.sample(1.0 - 1e-9)[1] == pytest.approx([2.0], abs=1e-6)
    assert curves.sample(1.0)[1] == pytest.approx([2.0])


def test_outside_of_its_times_a_joint_rests_at_the_ends() -> None:
    curves = random_curves(3, velocities=True)
    for at, point in ((-5.0, curves.positions[0]), (float(curves.times[-1]) + 1.0, curves.positions[-1])):
        position, velocity = curves.sample(at)
        assert position.tolist() == point.tolist()
        assert velocity.tolist() == [0.0] * 3
    assert curves.piece(-5.0) == 0
    assert curves.piece(1e9) == 4


@pytest.mark.parametrize("velocities", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_top_speed_is_reached_and_not_exceeded(seed: int, velocities: bool) -> None:
    curves = random_curves(seed, velocities=velocities)
    _, _, found = sampled(curves, 4000)
    fastest, top = np.abs(found).max(axis=0), curves.top_speeds()
    assert (fastest <= top * (1.0 + 1e-9)).all()
    assert fastest == pytest.approx(top, rel=1e-2)


def test_the_top_speed_within_a_piece_counts() -> None:
    # From rest to rest: 1.5 times the mean speed, half-way.
    rest = JointCurves(np.array([0.0, 2.0]), np.array([[0.0], [1.0]]), np.zeros((2, 1)))
    assert rest.top_speeds() == pytest.approx([0.75])
    assert JointCurves(rest.times, rest.positions, None).top_speeds() == pytest.approx([0.5])


def test_two_points_at_one_time_are_a_jump_that_no_limit_allows() -> None:
    curves = JointCurves(np.array([0.0, 1.0, 1.0]), np.array([[0.0], [1.0], [2.0]]), None)
    assert np.isfinite(curves.top_speeds()).all()
    assert curves.top_speeds()[0] > 1e8
    assert curves.sample(0.5)[0] == pytest.approx([0.5])
