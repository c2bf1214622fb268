"""Searching the parameters of a world for the best value of a metric, by CMA-ES, in several processes.

The search is a function of its settings: the same seed gives the same result whatever the number of processes, and one
that was interrupted goes on to the same result.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
import yaml

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, FleetSimError, of_extra, unknown_name
from fleet_sim.base.files import beside, exists, opened, read_text, refusals, resolve_config, write_file
from fleet_sim.base.parallel import Job, LocalExecutor, Perform
from fleet_sim.base.scenario import checker_of
from fleet_sim.base.settings import Checked, read, read_either, set_key, setting
from fleet_sim.swarm.world import World_from_config
from fleet_sim.swarm.world_config import load_world, world_in

# What a search varies and looks for: its settings, the world, and the parameters with their ranges.


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


# The trials of a search: worlds that are run for so many steps, in several processes.


Trial = tuple[Mapping[str, Any], int, str, Literal["average", "last"]]
"""A world with its seed, the number of steps to make, and the value to return: of which metric, and when."""


def run_trial(trial: Trial) -> float:
    """Return the value of a trial."""
    config, steps, name, value = trial
    with World_from_config(config) as world:
        world.evaluate(steps)
        metric = world.metric(name)
        return metric.average if value == "average" else metric.value


@contextmanager
def running_trials(executor: LocalExecutor | None) -> Iterator[Callable[[Sequence[Trial]], list[float]]]:
    """Yield a function that runs trials and returns their values in order, by `executor`; None: in this process."""
    if executor is None:
        yield lambda trials: [run_trial(trial) for trial in trials]
        return
    with executor.crew(_begin_worker) as crew:

        def run(trials: Sequence[Trial]) -> list[float]:
            found: dict[int, float] = {}
            for ended in crew.run(Job(number, trial) for number, trial in enumerate(trials)):
                if ended.error:
                    raise FleetSimError(f"a trial failed: {ended.error}\n{ended.trace}")
                found[ended.number] = ended.value
            return [found[number] for number in range(len(trials))]

        yield run


def _begin_worker() -> Perform:
    return run_trial


def _fingerprint(search: Search) -> dict[str, Any]:
    """Return the settings that determine the result of a search, without its length; a log is tied to them."""
    # A search may be continued for more generations, so their number is left out, and so is what changes no result.
    left_out = ("generations", "world")
    settings = {name: value for name, value in vars(search.config).items() if name not in left_out}
    plain: dict[str, Any] = json.loads(json.dumps({**settings, "world": search.world}, default=repr))
    return plain


@contextmanager
def log_for(search: Search, log: str | Path | None, *, new: bool) -> Iterator[TextIO | None]:
    if log is None:
        yield None
        return
    with refusals(log), opened(log, "w" if new else "a") as stream:
        if new:
            stream.write(json.dumps(_fingerprint(search)) + "\n")
        yield stream


def read_log(search: Search, log: Path) -> list[list[float]]:
    """Return the values of every generation in a log; raises ConfigError where it is of another search."""
    if not exists(log):
        return []
    lines = read_text(log).splitlines()
    try:
        # A last line that was cut off by an interruption is not valid JSON: it is refused, not guessed.
        head, *entries = [json.loads(line) for line in lines if line]
        known = [[float(value) for value in entry["values"]] for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"is not the log of a search: {error}; remove it to begin anew", source=str(log)) from error
    # Compared as plain JSON on both sides: tuples and numbers of NumPy would never equal what was read.
    if head != _fingerprint(search):
        raise ConfigError("is the log of another search; remove it to begin anew", source=str(log))
    return known


@dataclass
class SearchOutcome:
    """The result of a search so far. `best_value` is the metric's, `best` holds the parameters by key path."""

    generation: int = 0
    best_value: float = float("nan")
    best_cost: float = float("inf")
    best: dict[str, float] = field(default_factory=dict)
    best_shares: Floats = field(default_factory=lambda: np.empty(0))
    history: list[float] = field(default_factory=list)
    """The best value of each generation."""


def evolve(
    search: Search,
    *,
    log: str | Path | None = None,
    processes: int = 1,
    executor: LocalExecutor | None = None,
    report: Callable[[SearchOutcome], Any] = lambda outcome: None,
) -> SearchOutcome:
    """Search to the end and return the result.

    With `log` every generation is written to a file; where that exists, the search continues from it. `report` is
    called after each generation. Candidates are run in `processes` processes of this machine, or by `executor`; the
    result is the same. Raises MissingDependencyError if cma is not installed, and ConfigError for the log
    of another search.
    """
    if executor is None and processes > 1:
        executor = LocalExecutor(processes)
    strategy = _Strategy(search)
    outcome = SearchOutcome()
    known = read_log(search, Path(log)) if log is not None else []
    # The candidates are not in the log: CMA-ES asks for the same ones again, as its draws are seeded.
    for costs_known in known:
        strategy.ask()
        strategy.tell(costs_known, outcome)
    with log_for(search, log, new=not known) as stream, running_trials(executor) as run_all:
        while outcome.generation < search.config.generations and not strategy.done:
            worlds = [search.world_with(shares) for shares in strategy.ask()]
            seeded = [{**world, "seed": seed} for world in worlds for seed in search.config.seeds]
            trials: list[Trial] = [
                (world, search.config.steps, search.config.metric, search.config.value) for world in seeded
            ]
            values = np.array(run_all(trials), np.float64).reshape(len(worlds), len(search.config.seeds))
            # The raw means are logged, not costs: a log stays readable, and costs follow from the goal.
            means = [float(np.mean(row)) for row in values]
            strategy.tell(means, outcome)
            if stream is not None:
                stream.write(json.dumps({"generation": outcome.generation, "values": means}) + "\n")
                # An interrupted search loses at most the generation under way.
                stream.flush()
            report(outcome)
    return outcome


class _Strategy:
    """CMA-ES over shares in [0, 1], with random numbers of its own."""

    def __init__(self, search: Search) -> None:
        with of_extra("cma", "evolve", "searching parameters"):
            import cma
        self._search = search
        rng = np.random.Generator(np.random.PCG64(search.config.seed))
        options: dict[str, Any] = {
            "bounds": [0.0, 1.0],
            # Its own generator instead of NumPy's global one, which other code may use and change.
            "randn": lambda *shape: rng.standard_normal(shape),
            # NaN is how cma is told not to seed NumPy's global generator.
            "seed": float("nan"),
            "verbose": -9,
            "verb_log": 0,
        }
        if search.config.population is not None:
            options["popsize"] = search.config.population
        start = [parameter.share for parameter in search.parameters.values()]
        # CMA-ES needs at least two dimensions: a single parameter gets an unused second one.
        self._padded = len(start) == 1
        self._cma: Any = cma.CMAEvolutionStrategy(start + [0.5] * self._padded, search.config.sigma, options)
        self._asked: list[Floats] = []

    @property
    def done(self) -> bool:
        """Whether the search has converged."""
        return bool(self._cma.stop())

    def ask(self) -> list[Floats]:
        """Return the next candidates, as shares (K,)."""
        self._asked = [np.asarray(shares, np.float64) for shares in self._cma.ask()]
        return [shares[:1] if self._padded else shares for shares in self._asked]

    def tell(self, values: list[float], outcome: SearchOutcome) -> None:
        """Update CMA-ES with the values of the last candidates, and keep the best."""
        costs = [self._search.cost(value) for value in values]
        self._cma.tell(self._asked, costs)
        first = int(np.argmin(costs))
        outcome.generation += 1
        outcome.history.append(values[first])
        if costs[first] < outcome.best_cost:
            shares = self._asked[first][: len(self._search.parameters)]
            outcome.best_cost, outcome.best_value, outcome.best_shares = costs[first], values[first], shares
            pairs = zip(self._search.parameters.items(), shares.tolist(), strict=True)
            outcome.best = {key_path: parameter.value(share) for (key_path, parameter), share in pairs}


# ---- the result ------------------------------------------------------------------------------------------


def write_best(search: Search, outcome: SearchOutcome, path: str | Path) -> None:
    """Write the best world as a configuration, ready to run; its `metadata` holds the result."""
    world = search.world_with(outcome.best_shares)
    found = {"metric": search.config.metric, "value": outcome.best_value, "parameters": outcome.best}
    world["metadata"] = {**world.get("metadata", {}), "evolved": found}
    world.setdefault("type", "RectangularWorld")
    text = yaml.safe_dump(world, sort_keys=False)
    write_file(path, text)
