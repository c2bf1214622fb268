"""Simulation time in whole ticks, and schedules that fire an exact number of times."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any
from weakref import WeakSet

from fleet_sim.arrays import as_float
from fleet_sim.errors import InvalidValueError

_ROUNDING = Fraction(1, 1_000_000)


def exact(value: float) -> Fraction:
    """Return the simple fraction that a float stands for: 0.1 is 1/10, 1/240 is one 240th."""
    simple = Fraction(value).limit_denominator(1_000_000)
    # Only where it is the very same float: other numbers keep their full precision.
    return simple if float(simple) == value else Fraction(value)


@lru_cache(maxsize=4096)
def _ticks(seconds: float, numerator: int, denominator: int) -> int:
    """Return the steps of `numerator / denominator` s in `seconds`; kept, as the same times are asked for again."""
    return math.ceil(exact(seconds) / Fraction(numerator, denominator) - _ROUNDING)


class Clock:
    """Counts steps. `time` is `tick * dt`, computed, never accumulated, so it does not drift."""

    def __init__(self, dt: float) -> None:
        self.dt = dt
        self.tick = 0
        self._numerator, self._denominator = exact(dt).as_integer_ratio()
        # Weak: the schedule of a removed callback is freed with it.
        self._schedules: WeakSet[Schedule] = WeakSet()
        self._made = 0

    @property
    def time(self) -> float:
        """Simulation time in seconds: at the start of the current step, or the present time outside a step."""
        # Whole numbers until the division, which rounds only once.
        return self.tick * self._numerator / self._denominator

    def seconds(self, ticks: int) -> float:
        """Return the duration of `ticks` steps in seconds."""
        return ticks * self._numerator / self._denominator

    def ticks(self, seconds: float) -> int:
        """Return the number of whole steps until `seconds` have passed.

        A millionth of a step is ignored: sums of floats such as 0.1 + 0.2 end in the expected step.
        """
        return _ticks(seconds, self._numerator, self._denominator)

    def schedule(self, frequency: float | None) -> Schedule:
        """Return a schedule that fires `frequency` times per simulated second (None: at each step)."""
        schedule = Schedule(self, frequency, self._made)
        self._made += 1
        self._schedules.add(schedule)
        return schedule

    def save(self) -> Any:
        """Return the tick and the state of all schedules, for a checkpoint."""
        # By number and not by object: in another process, too, the same code makes the same schedules in this order.
        return self.tick, {schedule.number: schedule.progress for schedule in sorted(self._schedules, key=_number)}

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; schedules made since then start again."""
        self.tick, progress = saved
        for schedule in self._schedules:
            schedule.progress = progress.get(schedule.number, (self.tick, self.tick))

    def restart(self) -> None:
        """Go back to tick 0 and start all schedules again."""
        self.restore((0, {}))


class Schedule:
    """Decides in which steps a periodic task is due.

    Over any whole number of periods the count is exact: 10 Hz at dt 0.1 fires at each step, 3 Hz fires 30 times in 100
    steps. The first firing comes one full period after the schedule was made. A frequency above the step
    rate fires once per step. Made by `Clock.schedule`, which includes it in checkpoints.
    """

    def __init__(self, clock: Clock, frequency: float | None, number: int = 0) -> None:
        if frequency is not None:
            frequency = as_float(frequency, "frequency in Hz")
            if frequency <= 0.0:
                raise InvalidValueError(f"frequency in Hz must be above 0 (None: at each step), got {frequency}")
        self.frequency = frequency
        self.number = number
        """How many schedules of its clock were made before it."""
        self._clock = clock
        # Firings per tick as an exact fraction: polling uses integer arithmetic only, so the count cannot drift.
        per_tick = Fraction(1) if frequency is None else exact(frequency) * exact(clock.dt)
        self._firings, self._ticks = per_tick.numerator, per_tick.denominator
        self.progress = (clock.tick, clock.tick)
        """The tick from which firings are counted, and the tick at which the last firing's period ended."""

    def poll(self) -> float | None:
        """Return the seconds since the last firing if the task is due in this step, else None.

        Call it once per step. The elapsed time includes this step.
        """
        now = self._clock.tick
        origin, last = self.progress
        done = now - origin
        # As in Bresenham's lines: due where the whole part of the firings so far increases in this step.
        if (done + 1) * self._firings // self._ticks <= done * self._firings // self._ticks:
            return None
        self.progress = (origin, now + 1)
        return self._clock.seconds(now + 1 - last)


def _number(schedule: Schedule) -> int:
    return schedule.number
