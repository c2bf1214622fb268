"""The trials of a search: worlds that are run for so many steps, together where they can be, in several processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fleet_sim.errors import FleetSimError
from fleet_sim.parallel import Executor, Job, Perform
from fleet_sim.swarm.squares.together import MOST, Squares
from fleet_sim.swarm.world import World_from_config


@dataclass(frozen=True)
class Trial:
    """A world with its seed, the number of steps to make, and the value to return: of which metric, and when."""

    world: Mapping[str, Any]
    steps: int
    metric: str
    value: Literal["average", "last"]


class RunTrials(Protocol):
    """Runs trials."""

    def __call__(self, trials: Sequence[Trial], *, together: bool) -> list[float]:
        """Return the values of `trials`, in their order; the same with `together` and without."""


def run_trials(trials: Sequence[Trial], *, together: bool = True) -> list[float]:
    """Return the values of `trials`, all with as many steps: what each process computes."""
    worlds = [World_from_config(trial.world) for trial in trials]
    try:
        if together:
            Squares(worlds).evaluate(trials[0].steps)
        else:
            for world in worlds:
                world.evaluate(trials[0].steps)
        metrics = [world.metric(trial.metric) for world, trial in zip(worlds, trials, strict=True)]
        pairs = zip(metrics, trials, strict=True)
        return [metric.average if trial.value == "average" else metric.value for metric, trial in pairs]
    finally:
        for world in worlds:
            world.close()


def how_run(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Return in a sentence how two worlds of a search are run: together, or why one after the other."""
    # Two different candidates: what they differ in decides whether they can be together.
    with Squares([{**first, "seed": 0}, {**second, "seed": 0}]) as squares:
        alone, one_by_one = squares.alone, squares.one_by_one
    if alone:
        return f"candidates are stepped one after the other: {alone[min(alone)]}"
    each = f"; {', '.join(one_by_one)} world by world" if one_by_one else ""
    return f"candidates are stepped together{each}"


@contextmanager
def running_trials(executor: Executor | None) -> Iterator[RunTrials]:
    """Yield a function that runs trials, in order, by `executor`; None: in this process."""
    if executor is None:
        yield _run_in_parts
        return
    with executor.crew(_begin_worker) as crew:

        def run(trials: Sequence[Trial], *, together: bool) -> list[float]:
            parts = _parts(trials, executor.workers)
            found: dict[int, list[float]] = {}
            for ended in crew.run(Job(number, (part, together)) for number, part in enumerate(parts)):
                if ended.error:
                    raise FleetSimError(f"a trial failed: {ended.error}\n{ended.trace}")
                found[ended.number] = ended.value
            return [value for number in range(len(parts)) for value in found[number]]

        yield run


def _run_in_parts(trials: Sequence[Trial], *, together: bool) -> list[float]:
    return [value for part in _parts(trials, 1) for value in run_trials(part, together=together)]


def _parts(trials: Sequence[Trial], processes: int) -> list[Sequence[Trial]]:
    """Return `trials` in parts, at least one for each process, that are not too many for memory."""
    # Parts as large as possible step together best; one for each process keeps all of them busy.
    most = max(1, min(MOST, -(-len(trials) // processes)))
    return [trials[begin : begin + most] for begin in range(0, len(trials), most)]


def _begin_worker() -> Perform:
    return _run_part


def _run_part(content: tuple[Sequence[Trial], bool]) -> list[float]:
    trials, together = content
    return run_trials(trials, together=together)
