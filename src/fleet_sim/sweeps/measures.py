"""What is measured in a run: figures by name, and functions of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.actions.base import FINAL
from fleet_sim.config.modes import ActionStatus
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.orders.run_figures import figure_source
from fleet_sim.registry import Fit, Registry
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.traffic.figures import RunSource

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
