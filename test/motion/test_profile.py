"""The profile against the ideal trapezoid."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import Fleet

DTS = [0.001, 1 / 240, 0.01, 0.05, 0.1, 0.5, 3.0]


def ideal_time(distance: float, speed: float, accel: float) -> float:
    if distance < speed * speed / accel:
        return 2.0 * math.sqrt(distance / accel)
    return distance / speed + speed / accel


def test_ten_metres_take_54_steps() -> None:
    fleet = Fleet()
    fleet.send([10.0, 0.0, 0.0])
    assert fleet.finish() == 54


@pytest.mark.parametrize("dt", DTS)
@pytest.mark.parametrize("distance", [1e-9, 1e-3, 0.1, 1.0, 10.0])
def test_time_is_the_ideal_one_rounded_up_to_steps(dt: float, distance: float) -> None:
    fleet = Fleet(dt=dt)
    fleet.send([distance, 0.0, 0.0])
    least = max(1, math.ceil(ideal_time(distance, 2.0, 5.0) / dt - 1e-6))
    assert least <= fleet.finish() <= least + 2
    assert fleet.world.position[0].tolist() == [distance, 0.0, 0.0]


@settings(max_examples=60, deadline=None)
@given(
    distance=st.floats(1e-6, 5.0),
    speed=st.floats(0.2, 5.0),
    accel=st.floats(0.2, 50.0),
    dt=st.sampled_from(DTS[2:]),
)
def test_any_move_keeps_limits_and_ends_in_time(distance: float, speed: float, accel: float, dt: float) -> None:
    fleet = Fleet(dt=dt, linear_speed=speed, linear_accel=accel)
    fleet.send([distance, 0.0, 0.0])
    steps = fleet.finish()
    assert steps <= math.ceil(ideal_time(distance, speed, accel) / dt) + 2
    assert fleet.record.speeds().max() <= speed * (1 + 1e-9)
    assert fleet.record.speed_changes().max() <= accel * dt * (1 + 1e-8)
    x = np.array(fleet.record.positions)[:, 0, 0]
    assert (np.diff(x) >= 0.0).all()
    assert x[-1] == distance


def test_speeds_follow_the_trapezoid() -> None:
    fleet = Fleet(dt=0.01)
    fleet.send([4.0, 0.0, 0.0])
    fleet.finish()
    times = np.arange(len(fleet.record.velocities)) * 0.01
    ideal = np.clip(np.minimum(5.0 * times, 5.0 * (2.4 - times)), 0.0, 2.0)
    assert np.abs(fleet.record.speeds()[:, 0] - ideal).max() < 1e-6


def test_infinite_acceleration_moves_at_full_speed() -> None:
    fleet = Fleet(linear_accel=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() <= 51
    assert fleet.record.speeds().max() == 2.0


def test_without_any_limit_the_goal_is_reached_in_one_step() -> None:
    fleet = Fleet(linear_speed=np.inf, linear_accel=np.inf, angular_speed=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() == 1
