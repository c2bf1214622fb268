"""Simulation time as whole ticks, and schedules that fire an exact number of times."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any
from weakref import WeakSet

from fleet_sim.arrays import as_float
from fleet_sim.errors import InvalidValueError

_ROUNDING = Fraction(1, 1_000_000)


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
        self._schedules: WeakSet[Schedule] = WeakSet()

    @property
    def time(self) -> float:
        """Simulation time in seconds at the start of the current step, or now when outside one."""
        return self.tick * self._numerator / self._denominator

    def seconds(self, ticks: int) -> float:
        """Return how long `ticks` steps are."""
        return ticks * self._numerator / self._denominator

    def ticks(self, seconds: float) -> int:
        """Return how many whole steps it takes for `seconds` to pass.

        A millionth of a step does not count: sums of floats, such as 0.1 + 0.2, end in the step a person expects.
        """
        return math.ceil(exact(seconds) / self._exact_dt - _ROUNDING)

    def schedule(self, frequency: float | None) -> Schedule:
        """Return a schedule that fires `frequency` times per simulated second (None: at each step)."""
        schedule = Schedule(self, frequency)
        self._schedules.add(schedule)
        return schedule

    def save(self) -> Any:
        """Return the tick and how far every schedule is, for a checkpoint."""
        return self.tick, {schedule: schedule.progress for schedule in self._schedules}

    def restore(self, saved: Any) -> None:
        """Go back to what `save` returned; schedules made since begin anew."""
        self.tick, progress = saved
        for schedule in self._schedules:
            schedule.progress = progress.get(schedule, (self.tick, self.tick))

    def restart(self) -> None:
        """Go back to tick 0, where all schedules begin anew."""
        self.restore((0, {}))


class Schedule:
    """Decides in which steps something periodic is due.

    Over any whole number of periods the count is exact: 10 Hz at dt 0.1 fires at each step, 3 Hz fires 30 times in 100
    steps. The first firing comes one full period after the schedule was made. A frequency above the step
    rate fires once per step. Made by `Clock.schedule`, which takes it along through checkpoints.
    """

    def __init__(self, clock: Clock, frequency: float | None) -> None:
        if frequency is not None:
            frequency = as_float(frequency, "frequency in Hz")
            if frequency <= 0.0:
                raise InvalidValueError(f"frequency in Hz must be above 0 (None: at each step), got {frequency}")
        self.frequency = frequency
        self._clock = clock
        # Firings per tick, as a fraction of whole numbers: polling is exact, and cheap enough for every step.
        per_tick = Fraction(1) if frequency is None else exact(frequency) * exact(clock.dt)
        self._firings, self._ticks = per_tick.numerator, per_tick.denominator
        self.progress = (clock.tick, clock.tick)
        """The tick it counts from, and that of the last firing's end."""

    def poll(self) -> float | None:
        """Return the seconds since the last firing when it is due in this step, else None.

        To be asked once per step. The elapsed time counts this step as passed.
        """
        now = self._clock.tick
        origin, last = self.progress
        done = now - origin
        if (done + 1) * self._firings // self._ticks <= done * self._firings // self._ticks:
            return None
        self.progress = (origin, now + 1)
        return self._clock.seconds(now + 1 - last)
