"""Simulation time as whole ticks, and schedules that fire an exact number of times."""

from __future__ import annotations

import math
from fractions import Fraction

from fleet_sim.arrays import as_float
from fleet_sim.errors import InvalidValueError


def exact(value: float) -> Fraction:
    """Return the number a person meant by a float: 0.1 is one tenth, 1/240 is one 240th."""
    simple = Fraction(value).limit_denominator(1_000_000)
    return simple if float(simple) == value else Fraction(value)


class Clock:
    """Counts steps. `time` is `tick * dt`, computed, never accumulated, so it does not drift."""

    def __init__(self, dt: float) -> None:
        self.dt = dt
        self.tick = 0
        self._exact_dt = exact(dt)
        self._numerator = self._exact_dt.numerator
        self._denominator = self._exact_dt.denominator

    @property
    def time(self) -> float:
        """Simulation time in seconds at the start of the current step, or now when outside one."""
        return self.tick * self._numerator / self._denominator

    def ticks(self, seconds: float) -> int:
        """Return how many whole steps it takes for `seconds` to pass."""
        return math.ceil(exact(seconds) / self._exact_dt)

    def schedule(self, frequency: float | None) -> Schedule:
        """Return a schedule that fires `frequency` times per simulated second (None: at each step)."""
        return Schedule(self, frequency)


class Schedule:
    """Decides in which steps something periodic is due.

    Over any whole number of periods the count is exact: 10 Hz at dt 0.1 fires at each step, 3 Hz fires 30 times in 100
    steps. The first firing comes one full period after the schedule was made. A frequency above the step
    rate fires once per step.
    """

    def __init__(self, clock: Clock, frequency: float | None) -> None:
        if frequency is not None:
            frequency = as_float(frequency, "frequency in Hz")
            if frequency <= 0.0:
                raise InvalidValueError(f"frequency in Hz must be above 0 (None: at each step), got {frequency}")
        self.frequency = frequency
        self._clock = clock
        self._per_tick = None if frequency is None else exact(frequency) * exact(clock.dt)
        self.restart()

    def restart(self) -> None:
        """Begin anew from the clock's present tick."""
        self._origin = self._last = self._clock.tick

    def poll(self) -> float | None:
        """Return the seconds since the last firing when it is due in this step, else None.

        To be asked once per step. The elapsed time counts this step as passed.
        """
        now = self._clock.tick
        if self._per_tick is not None:
            done = now - self._origin
            if math.floor((done + 1) * self._per_tick) <= math.floor(done * self._per_tick):
                return None
        elapsed = (now + 1 - self._last) * exact(self._clock.dt)
        self._last = now + 1
        return float(elapsed)
