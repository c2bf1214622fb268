"""Scales: round numbers along axes, and numbers as people read them."""

from __future__ import annotations

import math
from typing import NamedTuple

NONE = "\u2013"
"""What stands for a figure that a run does not have."""


class Scale(NamedTuple):
    """A range of values on an axis, with its round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float, begin: float, end: float) -> float:
        """Return where `value` is between the pixels `begin` and `end`."""
        span = self.high - self.low
        # A range of one value has no length; everything is at its begin.
        return begin + (end - begin) * ((value - self.low) / span if span else 0.0)

    def digits(self, unit: float = 1.0) -> int:
        """Return how many decimals tell the round numbers apart, counted in units of that size."""
        step = (self.ticks[1] - self.ticks[0]) / unit if len(self.ticks) > 1 else 1.0
        return max(0, -math.floor(math.log10(step) + 1e-9))

    def texts(self, unit: str = "") -> list[str]:
        """Return the round numbers as texts, with their unit."""
        return [f"{number(tick, self.digits())} {unit}".rstrip() for tick in self.ticks]


def from_zero(high: float, most: int = 5) -> Scale:
    """Return a scale from 0 to a round number of at least `high`, with about `most` steps."""
    high = high if high > 0.0 else 1.0
    step = round_step(high, most)
    # The tolerance keeps 3.0000000001 steps from becoming four.
    count = max(1, math.ceil(high / step - 1e-9))
    return Scale(0.0, count * step, tuple(index * step for index in range(count + 1)))


def around(low: float, high: float, most: int = 6) -> Scale:
    """Return a scale between round numbers that holds `low` and `high`, with at most `most` steps or one more."""
    high = max(high, low + 1e-6)
    step = round_step(high - low, most)
    first, last = math.floor(low / step + 1e-9), max(math.ceil(high / step - 1e-9), math.floor(low / step) + 1)
    return Scale(first * step, last * step, tuple(index * step for index in range(first, last + 1)))


def round_step(span: float, most: int) -> float:
    """Return 1, 2 or 5 times a power of ten, so that at most `most` steps make `span`."""
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    return next(times * power for times in (1.0, 2.0, 5.0, 10.0) if times * power >= raw * (1.0 - 1e-9))


UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


class TimeAxis(NamedTuple):
    """Times on an axis: a scale in s, shown in `unit` of `length` s."""

    scale: Scale
    unit: str
    length: float

    def text(self, seconds: float) -> str:
        """Return a time with its unit."""
        least = 1 if self.length > 1.0 else 0
        return f"{number(seconds / self.length, max(least, self.scale.digits(self.length)))} {self.unit}"


def clock_to(seconds: float, most: int = 8) -> TimeAxis:
    """Return the axis of a run of so many seconds: from 0 to its end."""
    # The largest unit of which there are two: "90 min", not "1.5 h".
    length, unit = next(((size, name) for size, name in UNITS if seconds >= 2.0 * size), (1.0, "s"))
    step = round_step(max(seconds, 1e-9) / length, most) * length
    ticks = tuple(index * step for index in range(int(seconds / step + 1e-9) + 1))
    return TimeAxis(Scale(0.0, max(seconds, 1e-9), ticks), unit, length)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with at most `digits` decimals and spaces between thousands; a dash for None."""
    if value is None:
        return NONE
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    # Trailing zeros say nothing, and make columns hard to read.
    if digits and "." in text:
        text = text.rstrip("0").rstrip(".")
    # A number that is rounded to nothing has no sign.
    return "0" if text in ("-0", "") else text.replace("-", "\u2212")


def percent(share: float) -> str:
    """Return a change as people read it, such as +12 %."""
    sign = "+" if share > 0.0 else "\u2212" if share < 0.0 else "±"
    size = abs(share) * 100.0
    return f"{sign}{number(size, 1 if size < 10.0 else 0)} %"
