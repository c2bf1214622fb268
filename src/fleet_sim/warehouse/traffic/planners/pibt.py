"""PIBT: priority inheritance with backtracking, one step at a time.

Okumura, Machida, Défago and Tamura, "Priority inheritance with backtracking for iterative multi-agent path finding",
Artificial Intelligence 310 (2022). `pibt_step.py` makes one step of all robots; this file repeats it for a window, or
until all are at their goals. `lacam.py` searches with the same step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.base.errors import PlanError
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.guides import no_guides
from fleet_sim.warehouse.traffic.planners.pibt_step import OWN_PLACE, Guidance, PibtStep, queueing, run_steps
from fleet_sim.warehouse.traffic.planners.planner import Planner, PlannerSettings, plan_nothing
from fleet_sim.warehouse.traffic.problem import Problem

# Patience: for how long robots have been on their way.


@saved
class Patience:
    """Counts the calls in which robots started away from their goals, by their ids; robots not asked for are forgotten.

    Calls are counted and not steps, as only a part of each window may be driven.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._ids: Ints = np.empty(0, np.int64)
        self._waited: Ints = np.empty(0, np.int64)

    def waited(self, problem: Problem) -> Ints:
        """Return for how many calls each robot (R,) has been on its way, this one included; 0 for those there."""
        self.calls += 1
        waited = self._waited
        if not np.array_equal(problem.ids, self._ids):
            order = np.argsort(self._ids)
            at = np.searchsorted(self._ids[order], problem.ids)
            at = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(problem), np.int64)
            known_mask = self._ids[at] == problem.ids if len(order) else np.zeros(len(problem), bool)
            waited = np.where(known_mask, waited[at], 0) if len(order) else np.zeros(len(problem), np.int64)
            self._ids = problem.ids
        self._waited = np.where(problem.starts == problem.goals, 0, waited + 1)
        return self._waited.copy()


LONG = 100_000_000
"""Calls that robots seem to have waited that go first; less than what wide ones have before others."""


def one_way_nodes(network: Network) -> Bools:
    """Return the nodes (N,) from which a move leads that leads not back."""
    links = network.links
    # Who is next to whom in both directions, by node and column.
    back_mask = (links[links] == np.arange(len(links))[:, None, None]).any(axis=2)
    return np.asarray(((links >= 0) & ~back_mask).any(axis=1))


AT_ONCE = 64
"""Steps of a plan to the end between two looks at the clock."""


@dataclass
class PibtSettings(PlannerSettings):
    """Settings of PIBT."""

    allow_rotations: bool = setting(
        False, doc="Whether robots may move round in a circle at once; their discs need room: 0.7 of a cell at most."
    )
    against: int = setting(
        3,
        low=1,
        high=100,
        doc="In windows on a grid: steps that a move against its row or column counts as; rows alternate; 1:"
        " roads have no direction.",
    )
    queue: int = setting(
        0,
        low=0,
        high=1_000_000,
        doc="In windows: robots that are on their way to one goal at a time; others wait where they are, but on"
        " one-way lanes; 0: all go.",
    )
    most_steps: int = setting(10_000, low=1, high=1_000_000, doc="Of a plan to the end; robots may block each other.")


class Pibt(Planner):
    """Moves the robot with the highest priority nearer to its goal; who stands there inherits its priority and gives
    way first, and so on (Okumura et al., 2022).

    A robot's priority grows with each call in which it starts away from its goal, and falls when it arrives; robots at
    their goals give way. Wide robots on their way come before all others. Steps are found in well below a millisecond
    for a thousand robots. Lifelong, on a grid whose cells all lie on loops, every robot arrives some time if rotations
    are allowed; in dead ends, and without rotations, two may block each other for ever. A plan to the end is refused
    with PlanError then.
    """

    settings_class = PibtSettings
    keeps_bars = keeps_stands = True
    settings: PibtSettings

    def __init__(self, network: Network, **settings: Any) -> None:
        super().__init__(network, **settings)
        self.patience = Patience()
        """How long robots have been on their way."""
        self._step = PibtStep(network)
        self._one_way = one_way_nodes(network)
        """Nodes (N,) on which nobody waits for others to pass: who is behind cannot go back."""
        self._steps_planned = 0

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def plan(self, problem: Problem) -> Ints:
        """Return `window` steps, or steps until all robots are at their goals at once."""
        with self.network.lock:
            problem.require_ways()
            waited = self.patience.waited(problem)
            # Until they arrive: then they have waited for nothing.
            waited[problem.first & (problem.starts != problem.goals)] += LONG
            if problem.window:
                columns = self._run(problem, problem.starts, waited, problem.window, to_end=False)
                return np.concatenate((problem.starts[:, None], columns), axis=1)
            return self._to_end(problem, waited)

    def window_for(self, least: int) -> int:
        """Return `least`: the rule looks one step ahead, and what is planned later knows more."""
        return least

    def work(self, robots: int, window: int) -> float:
        """Return how many nodes one plan looks at."""
        return float(robots * (window or self.settings.most_steps))

    def figures(self) -> Mapping[str, float]:
        """Return how many steps were planned."""
        return {"steps_planned": float(self._steps_planned)}

    def _run(self, problem: Problem, now: Ints, waited: Ints, count: int, *, to_end: bool) -> Ints:
        """Return up to `count` steps (robots, steps) from the nodes `now`; with `to_end`, fewer where all arrive.

        `waited` is how long each robot has not come on; it decides who goes first.
        """
        # To the end, robots that nobody follows any more would only make detours.
        tables = self.network.tables if to_end else self.network.guided_tables(self.settings.against)
        tables.block(problem.blocked, problem.barred)
        rows = tables.rows_of(problem.goals, problem.wide)
        if self.settings.queue and not to_end and len(problem) > self.settings.queue:
            waits_mask = queueing(problem.goals, tables.steps[rows, now], waited, self.settings.queue) & ~problem.wide
            waits_mask &= ~(self._one_way[now] | problem.first)
            rows, waited = np.where(waits_mask, OWN_PLACE, rows), np.where(waits_mask, 0, waited)
        columns = np.empty((len(problem), count), np.int64)
        made = run_steps(
            self._step.arrays(problem),
            now.copy(),  # starts that cannot be written to would be another form of the kernel
            problem.goals,
            Guidance(tables.steps, rows, no_guides()),
            waited,
            np.uint64(problem.seed + self._steps_planned),
            self.settings.allow_rotations,
            # Within a window others soon make room, and who has arrived is better left alone.
            to_end and not self.network.claims and not self.network.stands,
            to_end,
            columns,
        )
        self._steps_planned += made
        return columns[:, :made]

    def _to_end(self, problem: Problem, waited: Ints) -> Ints:
        late = math.inf
        paths = problem.starts[:, None]
        while not np.array_equal(paths[:, -1], problem.goals):
            made = paths.shape[1] - 1
            if made >= self.settings.most_steps:
                raise PlanError(
                    f"PIBT has not brought all robots to their goals in {made} steps: they block each other, or two"
                    " have the same goal; plan with lacam"
                )
            if time.monotonic() > late:
                raise PlanError(f"PIBT has not brought all robots to their goals in {problem.time_limit:g} s")
            count = min(AT_ONCE, self.settings.most_steps - made)
            more = self._run(problem, np.ascontiguousarray(paths[:, -1]), waited, count, to_end=True)
            paths = np.concatenate((paths, more), axis=1)
            # From here on: the first steps may have been compiled before.
            late = min(late, time.monotonic() + problem.time_limit)
        # Those who are all there wait.
        return paths if paths.shape[1] > 1 else np.repeat(paths, 2, axis=1)
