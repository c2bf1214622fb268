"""Times and rates are exact, whatever floats do."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.world.clock import Clock


def test_time_does_not_drift() -> None:
    clock = Clock(0.1)
    clock.tick = 3_000_000
    assert clock.time == 300_000.0
    assert clock.seconds(3) == 0.3


def test_a_240th_is_a_240th() -> None:
    clock = Clock(1 / 240)
    clock.tick = 240 * 86_400
    assert clock.time == 86_400.0
    assert clock.ticks(1.0) == 240


@given(
    start=st.integers(0, 100_000), steps=st.integers(0, 100_000), dt=st.sampled_from([0.1, 0.05, 0.02, 1 / 240, 1 / 3])
)
def test_sums_of_times_end_in_the_expected_step(start: int, steps: int, dt: float) -> None:
    clock = Clock(dt)
    assert clock.ticks(clock.seconds(start) + clock.seconds(steps)) == start + steps


def test_part_of_a_step_takes_a_whole_one() -> None:
    assert [Clock(0.1).ticks(seconds) for seconds in (0.0, 0.01, 0.1, 0.11)] == [0, 1, 1, 2]


@given(
    frequency=st.sampled_from([0.5, 1.0, 3.0, 7.0, 9.9, 10.0]),
    dt=st.sampled_from([0.1, 0.05, 1 / 240]),
    late=st.integers(0, 1000),
)
def test_schedules_fire_exactly(frequency: float, dt: float, late: int) -> None:
    clock = Clock(dt)
    clock.tick = late
    schedule = clock.schedule(frequency)
    elapsed = []
    for _ in range(2400):
        seconds = schedule.poll()
        if seconds is not None:
            elapsed.append(seconds)
        clock.tick += 1
    per_step = Fraction(frequency).limit_denominator(100) * Fraction(dt).limit_denominator(1000)
    assert len(elapsed) == 2400 * per_step // 1
    assert sum(elapsed) <= clock.seconds(2400) + 1e-9
    assert min(elapsed) > 1 / frequency - dt


def test_no_frequency_means_each_step() -> None:
    clock = Clock(0.1)
    schedule = clock.schedule(None)
    assert schedule.poll() == 0.1
    clock.tick = 3
    assert schedule.poll() == pytest.approx(0.3)


def test_faster_than_the_steps_is_once_per_step() -> None:
    clock = Clock(0.1)
    schedule = clock.schedule(25.0)
    for tick in range(10):
        clock.tick = tick
        assert schedule.poll() == 0.1


@pytest.mark.parametrize("frequency", [0.0, -1.0, float("nan"), "often", True])
def test_bad_frequencies_are_refused(frequency: float) -> None:
    with pytest.raises(InvalidValueError, match="frequency in Hz"):
        Clock(0.1).schedule(frequency)
