"""What a search varies and looks for: its settings, the world, and the parameters with their ranges."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, unknown_name
from fleet_sim.base.files import beside, resolve_config
from fleet_sim.base.sections import checker_of
from fleet_sim.base.settings import Checked, read, read_either, set_key, setting
from fleet_sim.swarm.world import World_from_config
from fleet_sim.swarm.world_config import load_world, world_in

WORST = 1e12
"""Value of a world whose metric has no valid value, such as NaN."""


@dataclass
class Parameter(Checked):
    """One number that is searched for."""

    low: float = setting(doc="The smallest value.")
    high: float = setting(doc="The largest value.")
    start: float | None = setting(None, doc="Initial value of the search; null: the middle of the range.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise ConfigError(f"must be above low ({self.low:g}), got {self.high:g}", path="high")
        if self.start is not None and not self.low <= self.start <= self.high:
            raise ConfigError(f"must be within {self.low:g} and {self.high:g}, got {self.start:g}", path="start")

    def value(self, share: float) -> float:
        """Return the value at `share` of the way from `low` to `high`."""
        # Clipped, as rounding of the product may lead beyond an end that the setting must not pass.
        return min(max(self.low + share * (self.high - self.low), self.low), self.high)

    @property
    def share(self) -> float:
        """Where the search begins, as a share of the way."""
        return 0.5 if self.start is None else (self.start - self.low) / (self.high - self.low)


@dataclass
class EvolveConfig(Checked):
    """A search: a world, the parameters to vary, and the metric to optimise."""

    world: Any = setting(doc="The world: a mapping, or the name of a file.")
    parameters: dict[str, Any] = setting(
        doc="Parameters to vary: keys of the world, such as spawners[0].agent.controller.a[1], with low and high."
    )
    metric: str = setting(doc="The name of one of the world's metrics.")
    value: Literal["average", "last"] = setting(
        "average", doc="Use the average over its history at the end, or its last value."
    )
    goal: Literal["maximize", "minimize"] = setting("maximize", doc="Whether larger or smaller values are better.")
    steps: int = setting(1000, low=1, doc="Number of steps of each trial.")
    seeds: list[int] = setting(
        factory=lambda: [0], doc="Each candidate is run with all of these seeds; the mean is used."
    )
    generations: int = setting(20, low=1, doc="Number of generations to search.")
    population: int | None = setting(None, low=2, doc="Candidates per generation; null: as CMA-ES advises.")
    sigma: float = setting(
        0.25, above=0, high=1, doc="Initial standard deviation of candidates, as a fraction of each range."
    )
    seed: int = setting(0, low=0, doc="Seed of the search.")
    together: bool = setting(
        True, doc="Step candidates together where that is possible, which is faster and changes no result."
    )


@dataclass(frozen=True)
class Search:
    """A search, checked: its settings, the world as a mapping, and its parameters by key path."""

    config: EvolveConfig
    world: dict[str, Any]
    parameters: dict[str, Parameter]

    def world_with(self, shares: Floats) -> dict[str, Any]:
        """Return the world with the values at `shares` (K,) put in."""
        # A copy: candidates are made from the same world again and again.
        world = copy.deepcopy(self.world)
        for (key_path, parameter), share in zip(self.parameters.items(), shares.tolist(), strict=True):
            set_key(world, key_path, parameter.value(share), create=False)
        return world

    def cost(self, value: float) -> float:
        """Return the cost, which CMA-ES minimises."""
        # CMA-ES only ranks candidates, but NaN would make the ranking meaningless.
        if not np.isfinite(value):
            return WORST
        return -value if self.config.goal == "maximize" else value


def load_search(config: str | Path | Mapping[str, Any]) -> Search:
    """Return a search from a YAML file or a mapping; raises ConfigError naming what is wrong.

    The file of the world is beside the search's, or a shipped one.
    """
    settings, source = read_either(EvolveConfig, config, checker_of("search"))
    world = settings.world
    if isinstance(world, str):
        # Beside the search first: own files win over shipped ones of the same name.
        world = load_world(resolve_config(beside(source, world), source=source))
    if not isinstance(world, Mapping):
        raise ConfigError(f"must be a mapping or the name of a file, got {world!r}", source=source, path="world")
    if not settings.parameters:
        raise ConfigError("is empty; name what is to be varied", source=source, path="parameters")
    search = Search(
        settings,
        world_in(world),
        {
            key_path: read(Parameter, entry, source=source, path=f"parameters.{key_path}")
            for key_path, entry in settings.parameters.items()
        },
    )
    _check(search, source)
    return search


# With the start values: what is wrong with a key or a range is seen in the first world already.
def _check(search: Search, source: str) -> None:
    """Build the first world once, so that errors are reported before anything runs."""
    world = copy.deepcopy(search.world)
    for key_path, parameter in search.parameters.items():
        try:
            set_key(world, key_path, parameter.value(parameter.share), create=False)
        except ConfigError as error:
            raise ConfigError(str(error), source=source, path=f"parameters.{key_path}") from error
    with World_from_config(world) as built:
        built.setup()
        names = [metric.name for metric in built.metrics]
    if search.config.metric not in names:
        unknown = unknown_name("metric of the world", search.config.metric, names)
        raise ConfigError(str(unknown), source=source, path="metric")
