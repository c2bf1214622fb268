"""Time in ROS goes on, whatever happens to the simulation's clock."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")

from fleet_sim.core.clock import Clock
from fleet_sim.core.stamps import RosTime


def test_time_never_goes_back_whoever_asked_last() -> None:
    clock = Clock(0.05)
    time = RosTime(clock)
    clock.tick = 10
    published = time.now(ticks_ahead=1)
    assert time.now() < published
    assert time.last == published
    clock.tick = 3
    time.on_reset()
    # The state after the reset is another one than that before it, so it has another stamp.
    assert time.now() == published + 50_000_000
    assert time.now(ticks_ahead=1) == published + 100_000_000
