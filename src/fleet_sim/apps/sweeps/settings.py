"""What a sweep varies and measures: its settings and the values of its parameters.

`parse_seeds` and `values_of` read what people write in files and options, and raise with what is wrong in it. `plan.py`
makes the combinations.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fleet_sim.base.errors import ConfigError, InvalidValueError, unknown_name
from fleet_sim.base.files import beside, resolve_config
from fleet_sim.base.params import ActionStatus
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.base.scenario import as_scenario, checker_of, is_scenario
from fleet_sim.base.settings import Checked, load_mapping, read, read_either, set_key, setting
from fleet_sim.robots.actions.action import FINAL
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.orders.run_figures import figure_source
from fleet_sim.warehouse.traffic.figures_file import RunSource
from fleet_sim.world.clock import purpose_key

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
    attempts: int = setting(3, low=1, high=100, doc="How often a run is begun whose process dies.")


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


# The plan of a sweep: which runs there are, by number, and what is set in each.


MOST_RUNS = 10_000_000
MOST_VALUES = 2_000_000


@dataclass(frozen=True)
class SweepPlan:
    """A sweep, checked: its settings, the scenario as a mapping, the files of both, and the values of parameters.

    Runs have numbers from 0 on: the seeds of the first combination of values, those of the second one, and so on.
    """

    config: SweepConfig
    scenario: Mapping[str, Any]
    source: str
    """The file of the scenario; empty for a mapping, as `file` is."""
    file: str
    axes: Mapping[str, Values]
    """The values of each parameter; with `zip` and for what was drawn all of one length."""
    drawn: frozenset[str]

    @property
    def names(self) -> list[str]:
        """The key paths of all parameters."""
        return list(self.axes)

    @cached_property
    def lengths(self) -> list[tuple[list[str], int]]:
        """Which parameters go on together, and how many values they have: the outermost ones first."""
        fixed = [name for name in self.axes if name not in self.drawn]
        groups = [[name] for name in fixed]
        if self.config.combine == "zip" and fixed:
            groups = [fixed]
        if self.drawn:
            groups.append([name for name in self.axes if name in self.drawn])
        return [(group, len(self.axes[group[0]])) for group in groups]

    @property
    def combinations(self) -> int:
        """How many combinations of values there are."""
        count = 1
        for _, length in self.lengths:
            count *= length
        return count

    def __len__(self) -> int:
        return self.combinations * len(self.config.seeds)

    def values(self, number: int) -> dict[str, Any]:
        """Return the values of the parameters in run `number`, by key path."""
        place = number // len(self.config.seeds)
        found: dict[str, Any] = {}
        for group, length in reversed(self.lengths):
            place, index = divmod(place, length)
            found.update({name: self.axes[name][index] for name in group})
        return {name: found[name] for name in self.axes}

    def seed(self, number: int) -> int:
        """Return the seed of run `number`."""
        return self.config.seeds[number % len(self.config.seeds)]

    def scenario_of(self, number: int) -> dict[str, Any]:
        """Return the scenario of run `number`; raises ConfigError where a value cannot be set."""
        scenario = copy.deepcopy(dict(self.scenario))
        for name, value in self.values(number).items():
            set_key(scenario, name, copy.deepcopy(value))
        section = "simulation." if is_scenario(scenario) else ""
        set_key(scenario, section + "seed", self.seed(number))
        # Nobody looks: as fast as possible, without a window.
        for name, value in {"gui": False, "monitor": False, "target_rtf": 0}.items():
            set_key(scenario, section + name, value)
        if self.config.duration is not None:
            set_key(scenario, section + "duration", self.config.duration)
        return scenario

    def fingerprint(self) -> dict[str, Any]:
        """Return what determines the results, as plain JSON: results of another sweep are not taken for this one's."""
        limits = ("time_limit", "memory_limit", "attempts", "scenario")
        settings = {name: value for name, value in vars(self.config).items() if name not in limits}
        plain: dict[str, Any] = json.loads(json.dumps({**settings, "scenario": self.scenario}, default=repr))
        return plain


def load_sweep(config: str | Path | Mapping[str, Any]) -> SweepPlan:
    """Return a sweep from a YAML file or a mapping; raises ConfigError naming what is wrong.

    The file of the scenario is beside the sweep's, or a shipped one.
    """
    settings, source = read_either(SweepConfig, config, checker_of("sweep"))
    scenario, origin = settings.scenario, source
    if isinstance(scenario, str):
        # Beside the sweep first: own files win over shipped ones of the same name.
        path = resolve_config(beside(source, scenario), source=source)
        # Absolute: workers may have another working directory.
        scenario, origin = load_mapping(path), str(path.absolute())
    if not isinstance(scenario, Mapping):
        raise ConfigError(f"must be a mapping or the name of a file, got {scenario!r}", source=source, path="scenario")
    axes, drawn = _axes(settings, source)
    lengths = {name: len(values) for name, values in axes.items() if name not in drawn}
    if settings.combine == "zip" and len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ConfigError(f"with combine: zip all need as many values: {said}", source=source, path="parameters")
    plan = SweepPlan(settings, as_scenario(scenario), origin, source, axes, drawn)
    if len(plan) > MOST_RUNS:
        raise ConfigError(f"{len(plan)} runs are more than {MOST_RUNS}", source=source, path="parameters")
    _check(plan, source)
    return plan


def _axes(settings: SweepConfig, source: str) -> tuple[dict[str, Values], frozenset[str]]:
    """Return the values of each parameter, and the names of those that are drawn; raises ConfigError."""
    axes: dict[str, Values] = {}
    drawn, count = set(), 0
    for name, entry in settings.parameters.items():
        values = values_of(entry, source=source, path=f"parameters.{name}")
        count += settings.samples if isinstance(values, Distribution) else len(values)
        # Counted before they are drawn: with zip many long lists are few runs, but fill the memory.
        if count > MOST_VALUES:
            raise ConfigError(f"has more than {MOST_VALUES} values in all", source=source, path="parameters")
        if isinstance(values, Distribution):
            drawn.add(name)
            values = values.draw(settings.sample_seed, name, settings.samples)
        axes[name] = values
    return axes, frozenset(drawn)


def _check(plan: SweepPlan, source: str) -> None:
    """Set every value once, so that wrong key paths are reported before anything runs."""
    for name, values in plan.axes.items():
        if name.split(".")[-1] == "seed" and name in ("seed", "simulation.seed"):
            raise ConfigError("is varied by `seeds`", source=source, path=f"parameters.{name}")
        for value in values[:1]:
            try:
                set_key(copy.deepcopy(dict(plan.scenario)), name, value)
            except ConfigError as error:
                raise ConfigError(str(error), source=source, path=f"parameters.{name}") from error


# What is measured in a run: figures by name, and functions of users.


Measure = Callable[[MultiRobotSimulationCore], Any]
"""Takes a simulation at its end and returns a number, or numbers by name."""

TIMED = ("planning_ms",)
"""What names of figures begin with that differ from run to run, as they are times of the machine."""


MEASURES: Registry[Measure] = Registry(
    "measure", Fit("a function that takes the simulation and returns a number", callable), group="fleet_sim.measure"
)
"""Measures of users and other packages, by name. Figures of a run are known by theirs without being here."""


class RunMeasures:
    """Watches a simulation from its beginning and measures it at its end."""

    def __init__(self, sim: MultiRobotSimulationCore, names: Sequence[str]) -> None:
        self._sim, self._names = sim, names
        self._ended: Counter[ActionStatus] = Counter()
        sim.events.on("action_completed", self._note)
        self._source: RunSource | None = figure_source(sim)

    def _note(self, agent: Any, action: Any, status: ActionStatus) -> None:
        self._ended[status] += 1

    def values(self) -> dict[str, Any]:
        """Return what was asked for, or all figures that are the same in each run; raises UnknownNameError."""
        figures = self._figures()
        if not self._names:
            return {name: value for name, value in figures.items() if not name.startswith(TIMED)}
        found: dict[str, Any] = {}
        for name in self._names:
            if name in figures:
                found[name] = figures[name]
            elif name in MEASURES or ":" in name or "." in name:
                found.update(_numbers(name, MEASURES.find(name)(self._sim)))
            else:
                raise unknown_name("figure of the run", name, [*figures, *MEASURES.names()])
        return found

    def _figures(self) -> dict[str, Any]:
        """Return the figures of the run by name, the hash of its final state among them."""
        sim = self._sim
        found: dict[str, Any] = {
            "simulated_s": sim.sim_time,
            "robots": len(sim.agents),
            "collisions": sim.collisions.count,
            "static_collisions": sim.collisions.static_count,
            **{f"actions_{status.value}": self._ended[status] for status in FINAL},
        }
        if self._source is not None:
            found.update(self._source.run("", {}).figures)
        found.update(_of_swarm(sim))
        found["state_hash"] = sim.state_hash()
        return found


def _of_swarm(sim: MultiRobotSimulationCore) -> dict[str, Any]:
    """Return the metrics of a swarm world: the last value of each, and its average."""
    world = sim.extensions.find_manager("swarm")
    if world is None:
        return {}
    found: dict[str, Any] = {}
    for metric in world.metrics:
        found[metric.name] = _number(metric.value)
        found[f"{metric.name}_average"] = _number(metric.average)
    return found


def _numbers(name: str, given: Any) -> dict[str, Any]:
    """Return what a measure returned as numbers by name; raises InvalidValueError."""
    pairs = {f"{name}.{key}": value for key, value in given.items()} if isinstance(given, Mapping) else {name: given}
    for key, value in pairs.items():
        if value is not None and not isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
            raise InvalidValueError(f"the measure {key} returned {value!r}; expected a number, or numbers by name")
    return {key: _number(value) for key, value in pairs.items()}


def _number(value: Any) -> Any:
    """Return a number as plain Python; None for what is none."""
    if value is None:
        return None
    plain = value.item() if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0 else value
    # Tables have empty fields for what has no value.
    return None if isinstance(plain, float) and not np.isfinite(plain) else plain
