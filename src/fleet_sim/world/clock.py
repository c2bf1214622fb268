"""Simulation time in whole ticks, schedules that fire an exact number of times, and randomness from one seed.

Durations are drawn by distribution, as functions of (key, id, count).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Floats, Ints, as_float
from fleet_sim.base.errors import InvalidValueError, brief, did_you_mean
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.world import clock

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


# ROS time: simulation time that never goes back, not even at a reset.


NS_PER_S = 1_000_000_000


class RosTime:
    """Simulation time in ns for stamps and /clock. A reset does not set it back.

    If time jumps back, TF buffers, filters and timers of other nodes clear their data or stop.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # A fraction, so that stamps have no rounding errors that grow with the number of steps, as whole numbers:
        # arithmetic of Fraction takes longer than a robot's step.
        numerator, self._denominator = exact(clock.dt).as_integer_ratio()
        self._numerator = NS_PER_S * numerator
        self._offset = 0
        self._last = 0

    def now(self, *, ticks_ahead: int = 0) -> int:
        """Return the time in ns at the beginning of the current step, or `ticks_ahead` steps later."""
        time = self._elapsed(ticks_ahead) + self._offset
        # In the middle of a step the clock is older than the time that the previous step has already published.
        self._last = max(self._last, time)
        return time

    @property
    def last(self) -> int:
        """The newest time given out, in ns."""
        return self._last

    def on_reset(self) -> None:
        """Continue a step after the newest time given out, after the simulation's clock was set back.

        Whatever was published before, the state after it has a stamp of its own: readers drop messages of a time that
        they have had.
        """
        self._offset = self._last + self._elapsed(1) - 2 * self._elapsed(0)

    def _elapsed(self, ticks_ahead: int) -> int:
        return (self._clock.tick + ticks_ahead) * self._numerator // self._denominator


# Randomness from one seed: a key per purpose, generators by purpose, and counter-based random numbers. Each consumer
# of random numbers has a purpose and uses `purpose_key(seed, purpose)`, or a stream made from it. So adding a
# consumer never changes the numbers of another one.


Keys = npt.NDArray[np.uint64]

# SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW_BITS = 0xFFFFFFFFFFFFFFFF
_TO_UNIT = 2.0**-53
_TURN = 2.0 * np.pi


@lru_cache(maxsize=1 << 14)
def purpose_key(seed: int, purpose: str) -> int:
    """Return the 64-bit key for `purpose` in a simulation with `seed`."""
    # Not Python's `hash`, which for texts differs from process to process.
    digest = hashlib.blake2b(f"{seed}\n{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class RandomStreams:
    """Named generators derived from one seed.

    `stream("spawn")` gives the same sequence in every run with the same seed, whichever other streams were used before.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[str, np.random.Generator] = {}

    def key(self, purpose: str) -> int:
        """Return the 64-bit key of `purpose`, for counter-based numbers."""
        return purpose_key(self.seed, purpose)

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the generator of `purpose`, created at its first use."""
        generator = self._generators.get(purpose)
        if generator is None:
            generator = self._generators[purpose] = np.random.Generator(np.random.PCG64(self.key(purpose)))
        return generator

    def reseed(self, seed: int) -> None:
        """Start all over with another seed: streams and keys are from now on what they are with it from the start."""
        self.seed = seed
        self._generators.clear()

    def save(self) -> dict[str, Any]:
        """Return the seed and the state of every stream, for a checkpoint."""
        states = {purpose: generator.bit_generator.state for purpose, generator in self._generators.items()}
        return {"seed": self.seed, "states": states}

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned; streams not in it start again."""
        self.reseed(saved["seed"])
        for purpose, state in saved["states"].items():
            self.stream(purpose).bit_generator.state = state


# ---- numbers as functions of (key, id, count) ------------------------------------------------------------------------
# These numbers are not drawn from a stream: a number does not depend on other consumers, on the order or on repeated
# calls, and there is no state to save. `key` is the purpose (`purpose_key`), `id` the sequence (an entity or a time),
# `count` the index in that sequence; `lane` separates sequences of one purpose. All broadcast against each other.


def uniforms(keys: Keys | int, ids: Ints | int, counts: Ints | int, lane: int = 0) -> Floats:
    """Return the `counts`-th numbers in [0, 1) of the sequences `ids`, of the shape to which all broadcast."""
    # The xor makes a new array: `_mixed` works in place, and the stem may be a cached one.
    words = _mixed(_stem(keys, lane) ^ _words(ids))
    words = _mixed(words ^ _words(counts))
    # The upper 53 bits: a double holds them exactly, and the result stays below 1.
    words >>= np.uint64(11)
    out: Floats = words.astype(np.float64)
    out *= _TO_UNIT
    return out


def normals(keys: Keys | int, ids: Ints | int, counts: Ints | int, lane: int = 0) -> Floats:
    """Return the `counts`-th standard normal numbers of the sequences `ids`, of the shape to which all broadcast.

    Box-Muller transform: the numbers 2k and 2k + 1 come from the uniform numbers 2k and 2k + 1 of the same lane.
    """
    counts = np.asarray(counts)
    # Both numbers of a pair are computed from the counts alone, so no number needs those before it.
    odd = counts & 1
    even = counts - odd
    radii = _radii(uniforms(keys, ids, even, lane))
    angles = _TURN * uniforms(keys, ids, even + 1, lane)
    return np.asarray(radii * np.where(odd, *trig.sin_cos(angles)))


def normal_rows(keys: Keys, ids: int, count: int, lane: int = 0) -> Floats:
    """Return the first `count` normal numbers of sequence `ids` of each of `keys` (N,): (N, count).

    They are those of `normals(keys[:, None], ids, arange(count), lane)`, in half the time.
    """
    half = (count + 1) // 2
    evens, odds = uniforms(keys[:, None], ids, _evens_then_odds(half), lane)
    radii, angles = _radii(evens), _TURN * odds
    out = np.empty((len(keys), half, 2))
    sines, cosines = trig.sin_cos(angles)
    np.multiply(radii, cosines, out=out[:, :, 0])
    np.multiply(radii, sines, out=out[:, :, 1])
    return out.reshape(len(keys), 2 * half)[:, :count]


@lru_cache(maxsize=64)
def _evens_then_odds(half: int) -> Ints:
    """Return 0, 2, ... and 1, 3, ... (2, 1, half): contiguous halves, on which logarithms and sines are fast."""
    return np.ascontiguousarray(np.arange(2 * half).reshape(half, 2).T).reshape(2, 1, half)


def _radii(drawn: Floats) -> Floats:
    # Of 1 - u and not of u: u may be 0, which has no logarithm, but is never 1.
    return np.asarray(np.sqrt(-2.0 * trig.log(1.0 - drawn)))


def _stem(keys: Keys | int, lane: int) -> Keys:
    """Return the number `lane` of SplitMix64 for each key; the result must not be written to."""
    if isinstance(keys, int):
        return _known_stem(keys, lane)
    return _mixed(keys + np.uint64(lane * int(_GOLDEN) & _LOW_BITS))


@lru_cache(maxsize=1 << 12)
def _known_stem(key: int, lane: int) -> Keys:
    return _stem(np.array([key & _LOW_BITS], np.uint64), lane)


def _words(values: Ints | int) -> Keys | np.uint64:
    return np.uint64(values) if isinstance(values, int) else values.astype(np.uint64)


def _mixed(words: Keys) -> Keys:
    """Scatter the bits of `words`, in place: one step of SplitMix64."""
    words += _GOLDEN
    words ^= words >> np.uint64(30)
    words *= _MIX_1
    words ^= words >> np.uint64(27)
    words *= _MIX_2
    words ^= words >> np.uint64(31)
    return words


# Durations by distribution: read from settings, and drawn as functions of (key, id, count).


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
