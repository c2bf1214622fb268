"""Durations by distribution: read from settings, and drawn as functions of (key, id, count)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError, brief, did_you_mean
from fleet_sim.base.gate import LONGEST_TIME
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.world import clock
from fleet_sim.world.clock import Keys

COUNTS = {"uniform": 2, "exponential": 1, "normal": 2, "lognormal": 2}
"""How many numbers a distribution has: least and largest time; mean; mean and standard deviation, twice."""
SPREAD = 100.0
"""Standard deviation of a `lognormal` over its mean, at most."""


@dataclass(frozen=True)
class Distribution:
    """Random durations in s. What a `normal` one has below 0 is 0; the numbers of a `lognormal` are those of times,
    not of their logarithms."""

    kind: str
    numbers: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean in s, that of a `normal` without regard to what is cut off."""
        return 0.5 * sum(self.numbers) if self.kind == "uniform" else self.numbers[0]

    def draw(self, keys: Keys | int, ids: Ints | int, counts: Ints | int, lane: int = 0) -> Floats:
        """Return durations, as `uniforms` of `world/clock.py` does numbers."""
        first, *rest = self.numbers
        if self.kind == "uniform":
            return np.asarray(first + (rest[0] - first) * clock.uniforms(keys, ids, counts, lane))
        if self.kind == "exponential":
            # Of 1 - u and not of u: u may be 0, which has no logarithm.
            return np.asarray(-first * trig.log(1.0 - clock.uniforms(keys, ids, counts, lane)))
        # Normal numbers come in pairs; with arrays, as counts may be one number.
        drawn = clock.normals(keys, ids, np.atleast_1d(counts), lane)
        if self.kind == "normal":
            return np.maximum(first + rest[0] * drawn, 0.0)
        square = float(trig.log(np.array([1.0 + (rest[0] / first) ** 2]))[0])
        return first * trig.exp(math.sqrt(square) * drawn - 0.5 * square)

    def as_setting(self) -> dict[str, Any]:
        """Return it as it is written in settings."""
        return {self.kind: self.numbers[0] if len(self.numbers) == 1 else list(self.numbers)}


Duration: TypeAlias = float | Distribution
"""A time in s, always the same or by distribution."""

_TIME = {"type": "number", "minimum": 0, "maximum": LONGEST_TIME}
_SCHEMA = {
    "anyOf": [
        _TIME,
        *(
            {
                "type": "object",
                "properties": {kind: {"type": "array", "items": _TIME, "minItems": 2, "maxItems": 2}}
                if count == 2
                else {kind: _TIME},
                "required": [kind],
                "additionalProperties": False,
            }
            for kind, count in COUNTS.items()
        ),
    ]
}


def read_duration(value: object) -> Duration:
    """Return a time in s, or the Distribution of `{kind: numbers}`; raises InvalidValueError saying what is allowed."""
    if isinstance(value, Distribution):
        return value
    if not isinstance(value, dict):
        return _time(
            value,
            "expected seconds, or one of {uniform: [least, largest]}, {exponential: mean}, "
            "{normal: [mean, deviation]}, {lognormal: [mean, deviation]}",
        )
    if len(value) != 1 or (kind := next(iter(value))) not in COUNTS:
        named = (
            brief(value) if len(value) != 1 else f"{next(iter(value))!r}.{did_you_mean(str(next(iter(value))), COUNTS)}"
        )
        raise InvalidValueError(f"expected one of {', '.join(COUNTS)}, got {named}")
    given = value[kind] if isinstance(value[kind], (list, tuple)) else [value[kind]]
    if len(given) != COUNTS[kind]:
        raise InvalidValueError(f"{kind}: expected {COUNTS[kind]} number(s) in s, got {brief(value[kind])}")
    numbers = tuple(_time(number, f"{kind}: expected seconds") for number in given)
    if kind == "uniform" and numbers[0] > numbers[1]:
        raise InvalidValueError(f"uniform: expected the smaller number first, got {list(numbers)}")
    if kind == "lognormal" and not (numbers[0] > 0.0 and numbers[1] <= SPREAD * numbers[0]):
        raise InvalidValueError(
            f"lognormal: expected a mean above 0 and a deviation of at most {SPREAD:g} times it, got {list(numbers)}"
        )
    return Distribution(kind, numbers)


def _time(value: object, expected: str) -> float:
    # True would be one second.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= LONGEST_TIME:
        return float(value)
    raise InvalidValueError(f"{expected}, of numbers from 0 to {LONGEST_TIME:g}; got {brief(value)}")


def duration_setting(default: Any, *, doc: str) -> Any:
    """Return a `setting` for a Duration; where `default` is None, None is allowed."""
    if default is not None:
        return setting(default, reader=read_duration, schema=_SCHEMA, unit="s", doc=doc)
    schema = {"anyOf": [*_SCHEMA["anyOf"], {"type": "null"}]}
    return setting(None, reader=_read_or_none, schema=schema, unit="s", doc=doc)


def _read_or_none(value: object) -> Duration | None:
    return None if value is None else read_duration(value)


def duration_of(value: Duration, key: int, sequence: int, count: int) -> float:
    """Return one duration: `value` itself, or one drawn from it."""
    return float(value.draw(key, sequence, np.array([count]))[0]) if isinstance(value, Distribution) else value
