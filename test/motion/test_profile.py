"""The profile against the ideal trapezoid."""

import math

import numpy as np
import pytest
from motion_fleet import Fleet

DTS = [1 / 240, 0.5, 3.0]


def ideal_time(distance: float, speed: float, accel: float) -> float:
    if distance < speed * speed / accel:
        return 2.0 * math.sqrt(distance / accel)
    return distance / speed + speed / accel


@pytest.mark.parametrize("dt", DTS)
@pytest.mark.parametrize("distance", [1e-9, 1e-3, 0.1, 1.0, 10.0])
def test_time_is_the_ideal_one_rounded_up_to_steps(dt: float, distance: float) -> None:
    fleet = Fleet(dt=dt)
    fleet.send([distance, 0.0, 0.0])
    least = max(1, math.ceil(ideal_time(distance, 2.0, 5.0) / dt - 1e-6))
    assert least <= fleet.finish() <= least + 2
    assert fleet.world.position[0].tolist() == [distance, 0.0, 0.0]


def test_infinite_acceleration_moves_at_full_speed() -> None:
    fleet = Fleet(linear_accel=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() <= 51
    assert fleet.record.speeds().max() == 2.0


def test_without_any_limit_the_goal_is_reached_in_one_step() -> None:
    fleet = Fleet(linear_speed=np.inf, linear_accel=np.inf, angular_speed=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() == 1
