"""Searching the parameters of a world for the best value of a metric, by CMA-ES, in parallel processes.

The search is a function of its settings: the same seed gives the same result whatever the number of processes, and one
that was interrupted goes on to the same result. A log holds one line of JSON per
generation, and replaying it restores the state of the search.
"""

from __future__ import annotations

import copy
import json
import multiprocessing
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
import yaml

from fleet_sim.arrays import Floats
from fleet_sim.errors import ConfigError, missing_extra, unknown_name
from fleet_sim.output import refusals, replacing
from fleet_sim.paths import is_file, resolve_config
from fleet_sim.settings import Checked, load_mapping, read, setting
from fleet_sim.swarm.world import World_from_config
from fleet_sim.swarm.world_source import load_world, world_in

_KEY = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
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
            put(world, key_path, parameter.value(share))
        return world

    def cost(self, value: float) -> float:
        """Return the cost, which CMA-ES minimises."""
        # CMA-ES only ranks candidates, but NaN would make the ranking meaningless.
        if not np.isfinite(value):
            return WORST
        return -value if self.config.goal == "maximize" else value


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


def load_search(config: str | Path | Mapping[str, Any]) -> Search:
    """Return a search from a YAML file or a mapping; raises ConfigError naming what is wrong.

    The file of the world is beside the search's, or a shipped one.
    """
    source, folder = "", Path()
    if isinstance(config, (str, Path)):
        source, folder, config = str(config), Path(config).parent, load_mapping(config)
    settings = read(EvolveConfig, config, source=source)
    world = settings.world
    if isinstance(world, str):
        beside = folder / world
        world = load_world(beside if is_file(beside) else resolve_config(world))
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


def _check(search: Search, source: str) -> None:
    """Build the first world once, so that errors are reported before anything runs."""
    world = copy.deepcopy(search.world)
    for key_path, parameter in search.parameters.items():
        try:
            put(world, key_path, parameter.value(parameter.share))
        except ConfigError as error:
            raise ConfigError(str(error), source=source, path=f"parameters.{key_path}") from error
    with World_from_config(world) as built:
        built.setup()
        names = [metric.name for metric in built.metrics]
    if search.config.metric not in names:
        unknown = unknown_name("metric of the world", search.config.metric, names)
        raise ConfigError(str(unknown), source=source, path="metric")


def put(world: dict[str, Any], key_path: str, value: float) -> None:
    """Put `value` at a key path such as "spawners[0].agent.controller.a[1]"; raises ConfigError where there is none."""
    keys: list[str | int] = [name or int(index) for name, index in _KEY.findall(key_path)]
    target: Any = world
    for depth, key in enumerate(keys):
        inside = isinstance(target, dict) if isinstance(key, str) else isinstance(target, list) and key < len(target)
        last = depth == len(keys) - 1
        if not inside or (not last and isinstance(target, dict) and key not in target):
            raise ConfigError(f"there is no such key in the world: nothing at {key!r} of {target!r}")
        if last:
            target[key] = value
        else:
            target = target[key]


def trial(world: dict[str, Any], config: EvolveConfig, seed: int) -> float:
    """Return the value of the metric after a run of `world` with `seed`: what each process computes."""
    # A world of its own for each trial, closed at its end: trials share nothing.
    with World_from_config({**world, "seed": seed}) as built:
        built.evaluate(config.steps)
        found = built.metric(config.metric)
        return found.average if config.value == "average" else found.value


def evolve(
    search: Search,
    *,
    log: str | Path | None = None,
    processes: int = 1,
    report: Callable[[SearchOutcome], Any] = lambda outcome: None,
) -> SearchOutcome:
    """Search to the end and return the result.

    With `log` every generation is written to a file; where that exists, the search continues from it. `report` is
    called after each generation. Raises MissingDependencyError if cma is not installed, and ConfigError for the log
    of another search.
    """
    strategy = _Strategy(search)
    outcome = SearchOutcome()
    known = _read_log(search, Path(log)) if log is not None else []
    # The candidates are not in the log: CMA-ES asks for the same ones again, as its draws are seeded.
    for costs_known in known:
        strategy.ask()
        strategy.tell(costs_known, outcome)
    with _log_for(search, log, new=not known) as stream, _mapper(processes) as run_all:
        while outcome.generation < search.config.generations and not strategy.done:
            worlds = [search.world_with(shares) for shares in strategy.ask()]
            trials = [(world, search.config, seed) for world in worlds for seed in search.config.seeds]
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
        try:
            import cma
        except ImportError as error:
            raise missing_extra("cma", "evolve", "searching parameters") from error
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


@contextmanager
def _mapper(processes: int) -> Iterator[Callable[[list[tuple[Any, ...]]], list[float]]]:
    """Yield a function that runs trials, in order, in `processes` processes."""
    if processes <= 1:
        yield lambda jobs: [trial(*job) for job in jobs]
        return
    # Spawned, not forked: threads of the parent, such as those of ROS, must not be copied.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_begin_worker, initargs=(list(sys.path),))
    try:
        yield lambda jobs: list(pool.map(trial, *zip(*jobs, strict=True)))
    finally:
        # After Ctrl-C only running trials are waited for; queued ones are cancelled.
        pool.shutdown(cancel_futures=True)


def _begin_worker(path: list[str]) -> None:
    """Let a worker find the modules its parent finds, and leave Ctrl-C to the parent."""
    sys.path[:] = path
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# ---- the log and the result ------------------------------------------------------------------------------------------


def _fingerprint(search: Search) -> dict[str, Any]:
    """Return the settings that determine the result of a search, without its length; a log is tied to them."""
    # A search may be continued for more generations, so their number is left out.
    settings = {name: value for name, value in vars(search.config).items() if name not in ("generations", "world")}
    plain: dict[str, Any] = json.loads(json.dumps({**settings, "world": search.world}, default=repr))
    return plain


@contextmanager
def _log_for(search: Search, log: str | Path | None, *, new: bool) -> Iterator[TextIO | None]:
    if log is None:
        yield None
        return
    with refusals(log), Path(log).open("w" if new else "a", encoding="utf-8") as stream:
        if new:
            stream.write(json.dumps(_fingerprint(search)) + "\n")
        yield stream


def _read_log(search: Search, log: Path) -> list[list[float]]:
    """Return the values of every generation in a log; raises ConfigError where it is of another search."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8").splitlines()
    try:
        head, *entries = [json.loads(line) for line in lines if line]
        known = [[float(value) for value in entry["values"]] for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"is not the log of a search: {error}; remove it to begin anew", source=str(log)) from error
    if head != _fingerprint(search):
        raise ConfigError("is the log of another search; remove it to begin anew", source=str(log))
    return known


def write_best(search: Search, outcome: SearchOutcome, path: str | Path) -> None:
    """Write the best world as a configuration, ready to run; its `metadata` holds the result."""
    world = search.world_with(outcome.best_shares)
    found = {"metric": search.config.metric, "value": outcome.best_value, "parameters": outcome.best}
    world["metadata"] = {**world.get("metadata", {}), "evolved": found}
    world.setdefault("type", "RectangularWorld")
    text = yaml.safe_dump(world, sort_keys=False)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
