"""The plan of a sweep: which runs there are, by number, and what is set in each."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fleet_sim.config.file_kinds import checker_of
from fleet_sim.config.scenario import as_scenario, is_scenario
from fleet_sim.errors import ConfigError
from fleet_sim.paths import beside, resolve_config
from fleet_sim.settings import load_mapping, read_either, set_key
from fleet_sim.sweeps.settings import Distribution, SweepConfig, Values, values_of

MOST_RUNS = 10_000_000
MOST_VALUES = 2_000_000


@dataclass(frozen=True)
class SweepPlan:
    """A sweep, checked: its settings, the scenario as a mapping, where that is from, and the values of parameters.

    Runs have numbers from 0 on: the seeds of the first combination of values, those of the second one, and so on.
    """

    config: SweepConfig
    scenario: Mapping[str, Any]
    source: str
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
    plan = SweepPlan(settings, as_scenario(scenario), origin, axes, drawn)
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
