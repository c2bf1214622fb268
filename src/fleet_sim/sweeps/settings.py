"""What a sweep varies and measures: its settings and the values of its parameters.

`parse_seeds` and `values_of` read what people write in files and options, and raise with what is wrong in it. `plan.py`
makes the combinations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fleet_sim.core.random import purpose_key
from fleet_sim.errors import ConfigError
from fleet_sim.settings import Checked, read, setting

MOST_SEEDS = 100_000
"""A range such as 1-9999999999 is a mistake, and its list would fill the memory."""


def parse_seeds(given: object) -> list[int]:
    """Return the seeds in a text such as "1-20" or "1,4,7-9", or in a list; raises ValueError saying what is wrong."""
    if isinstance(given, list):
        parts = given
    elif isinstance(given, (str, int)) and not isinstance(given, bool):
        parts = str(given).split(",")
    else:
        raise ValueError(f"must be a list of seeds, or a text such as 1-20, got {given!r}")
    found: list[int] = []
    for part in map(str, parts):
        # A dash that comes first is a sign, not a range.
        if not part.strip() or part.strip()[0] == "-" or part.strip()[-1] == "-":
            raise ValueError(f"must be whole numbers of at least 0 and ranges of them, such as 1-20, got {part!r}")
        # Without a dash `last` is empty, and the range is one seed.
        first, dash, last = part.partition("-")
        begin = _seed(first)
        end = _seed(last) if dash else begin
        if end < begin:
            raise ValueError(f"a range ends before it begins: must be at least {begin}, got {end}")
        # Counted before the list grows.
        if end - begin + 1 + len(found) > MOST_SEEDS:
            raise ValueError(f"at most {MOST_SEEDS} seeds at once, got {given!r}")
        found += range(begin, end + 1)
    if not found:
        raise ValueError("needs one seed at least")
    for seed, times in Counter(found).items():
        if times > 1:
            raise ValueError(f"seed {seed} is given twice in {given!r}")
    return found


def _seed(text: str) -> int:
    # Not `isdigit`, which is true of digits that `int` does not read.
    if not text.strip().isdecimal():
        raise ValueError(f"must be a whole number of at least 0, got {text!r}")
    return int(text)


@dataclass
class SweepConfig(Checked):
    """A sweep: a scenario, what is varied in it, and what is measured."""

    scenario: Any = setting(doc="The scenario or swarm world: the name of a file, or a mapping.")
    duration: float | None = setting(None, above=0, unit="s", doc="Simulated time of each run; null: the scenario's.")
    seeds: list[int] = setting(
        factory=lambda: [0],
        reader=parse_seeds,
        schema={"type": ["string", "array", "integer"], "items": {"type": ["integer", "string"]}},
        doc="Seeds of each combination of values: a list, or a text such as 1-20.",
    )
    parameters: dict[str, Any] = setting(
        factory=dict,
        doc="Key paths of the scenario, such as orders.allocation.allocator, each with its values: a list, a range "
        "{from, to, count} or {from, to, step}, or a distribution {uniform | log_uniform | normal: [a, b]}.",
    )
    combine: Literal["grid", "zip"] = setting(
        "grid",
        doc="Whether every value meets every other one, or the first ones of all lists belong together, and so on.",
    )
    samples: int = setting(
        10,
        low=1,
        high=1_000_000,
        doc="How many values are drawn from distributions, for each combination of the others.",
    )
    sample_seed: int = setting(0, low=0, doc="Seed of the values that are drawn.")
    measure: list[str] = setting(
        factory=list,
        doc="What is kept of each run: names of figures, or dotted paths of functions of your own that take the "
        "simulation. Empty: all figures that are the same in each run.",
    )
    time_limit: float | None = setting(
        None, above=0, unit="s", doc="Real time that a run may take; one that takes longer is ended and fails."
    )
    memory_limit: float | None = setting(
        None, above=0, unit="MB", doc="Memory that a run may take; one that takes more is ended and fails."
    )
    attempts: int = setting(3, low=1, high=100, doc="How often a run is begun whose process or machine dies.")


@dataclass
class ValueRange(Checked):
    """Values at equal distances."""

    start: float = setting(aliases=("from",), doc="The first value.")
    stop: float = setting(aliases=("to",), doc="The last value.")
    count: int | None = setting(None, low=2, high=100_000, doc="How many values there are.")
    step: float | None = setting(None, above=0, doc="The distance of two values.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.count is None) == (self.step is None):
            raise ConfigError("needs `count` or `step`, one of them")
        if self.stop <= self.start:
            raise ConfigError(f"must be above from ({self.start:g}), got {self.stop:g}", path="to")
        if self.step is not None and (self.stop - self.start) / self.step > 100_000:
            raise ConfigError("makes more than 100000 values", path="step")

    def values(self) -> list[float]:
        """Return the values; whole numbers are integers, as counts of robots must be."""
        if self.count is not None:
            found = np.linspace(self.start, self.stop, self.count).tolist()
        else:
            # A little more, so that rounding does not lose the last one.
            assert self.step is not None
            steps = int((self.stop - self.start) / self.step * (1.0 + 1e-12) + 1e-9)
            found = [self.start + index * self.step for index in range(steps + 1)]
        return [int(value) if float(value).is_integer() else value for value in found]


@dataclass(frozen=True)
class Distribution:
    """Values that are drawn: of a kind, with its two numbers."""

    kind: str
    first: float
    second: float

    def draw(self, seed: int, name: str, count: int) -> list[float]:
        """Return `count` values; the same for the same seed and name, and the first ones whatever the count."""
        # A stream for each name, so that values do not depend on other parameters.
        random = np.random.Generator(np.random.PCG64(purpose_key(seed, f"sweep {name}")))
        if self.kind == "normal":
            return random.normal(self.first, self.second, count).tolist()
        if self.kind == "log_uniform":
            return np.exp(random.uniform(np.log(self.first), np.log(self.second), count)).tolist()
        return random.uniform(self.first, self.second, count).tolist()


DISTRIBUTIONS = ("uniform", "log_uniform", "normal")

Values = Sequence[Any]


def values_of(given: object, *, source: str, path: str) -> Values | Distribution:
    """Return the values of a parameter as a list, or its distribution; raises ConfigError."""
    if isinstance(given, Mapping):
        kind = next((name for name in DISTRIBUTIONS if name in given), None)
        if kind is None:
            try:
                return read(ValueRange, given, source=source, path=path).values()
            except ConfigError as error:
                raise error if error.path else error.within(path, source=source) from error
        if len(given) > 1:
            raise ConfigError(f"takes nothing beside {kind}", source=source, path=path)
        return _distribution(kind, given[kind], source=source, path=f"{path}.{kind}")
    if not isinstance(given, list) or not given:
        expected = f"a list of values, a range with from and to, or one of {', '.join(DISTRIBUTIONS)}"
        raise ConfigError(f"must be {expected}, got {given!r}", source=source, path=path)
    return list(given)


def _distribution(kind: str, given: object, *, source: str, path: str) -> Distribution:
    """Return the distribution `kind` with its two numbers; raises ConfigError, with source and path, for wrong ones.

    They are mean and standard deviation of a normal one, and else the lower and the upper end.
    """
    numbers = (
        [isinstance(item, (int, float)) and not isinstance(item, bool) for item in given]
        if isinstance(given, list)
        else []
    )
    if len(numbers) != 2 or not all(numbers):
        raise ConfigError(f"must be two numbers, got {given!r}", source=source, path=path)
    assert isinstance(given, list)
    try:
        first, second = map(float, given)
    except OverflowError:
        # A whole number may have any number of digits.
        first = second = np.inf
    if not np.isfinite([first, second]).all():
        raise ConfigError(f"must be finite, got {given!r}", source=source, path=path)
    if kind == "normal" and second <= 0.0:
        raise ConfigError(f"needs a mean and a standard deviation above 0, got {given!r}", source=source, path=path)
    if kind != "normal" and first >= second:
        raise ConfigError(f"needs a smaller and a larger number, got {given!r}", source=source, path=path)
    if kind == "log_uniform" and first <= 0.0:
        raise ConfigError(f"needs numbers above 0, got {given!r}", source=source, path=path)
    return Distribution(kind, first, second)
