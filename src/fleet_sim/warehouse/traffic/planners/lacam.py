"""LaCAM: lazy constraints addition search.

Okumura, "LaCAM: search-based algorithm for quick multi-agent pathfinding" (AAAI 2023). Where a step leads to places
that the search has seen, it is repeated with robots that are told where to go, one more with each repetition.
`guides.py` spreads the ways of the first plan; `refinement.py` makes a plan on a grid cheaper.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.guides import apart, guides_of, no_guides, work_of_guides
from fleet_sim.warehouse.traffic.planners.pibt import Patience, Pibt
from fleet_sim.warehouse.traffic.planners.pibt_step import Guidance, PibtStep, next_places
from fleet_sim.warehouse.traffic.planners.planner import TO_THE_END, Planner, PlannerSettings, plan_nothing
from fleet_sim.warehouse.traffic.planners.refinement import Refinement, fits_words
from fleet_sim.warehouse.traffic.problem import Problem


@dataclass
class LacamSettings(PlannerSettings):
    """Settings of LaCAM."""

    allow_rotations: bool = setting(
        False, doc="Whether robots may move round in a circle at once; their discs need room: 0.7 of a cell at most."
    )
    guides: bool = setting(True, doc="Whether robots prefer ways that keep apart, which are some steps longer.")
    refinements: int | None = setting(
        0,
        low=0,
        high=1_000_000_000,
        doc="Rounds that make the first plan cheaper, on a grid; null: until the time limit, and so not reproducible.",
    )
    group: int = setting(3, low=1, high=1000, doc="Robots at most that a round plans anew.")
    most_visited: int = setting(1_000_000, low=1, high=1_000_000_000, doc="Places of all robots that are looked at.")
    tries: int = setting(
        5000, low=1, high=1_000_000_000, doc="In windows: steps that are tried; PIBT plans what is not solved by then."
    )


FARTHEST = 1e9
"""More steps than any goal is away, so that distances count less than one step of waiting."""


@dataclass(eq=False)
class Visited:
    """Places of all robots that the search has seen: how it came there, and what it has not tried from there yet."""

    places: Ints
    before: Visited | None
    waited: Floats
    order: Ints
    # Each: moves (C, 2) that robots must make, by number and column.
    untried: deque[Ints] = field(default_factory=lambda: deque([np.empty((0, 2), np.int64)]))


class Lacam(Planner):
    """Searches over places of all robots at once, step by step with PIBT; where that leads nowhere new, robot after
    robot is told where to go, until all ways on are tried (Okumura, 2023).

    A plan to the end is found wherever there is one, if time and `most_visited` allow. Robots with a common goal: the
    nearest has it, others go as near as they can. Where a window is asked for and no plan to the end found, the window
    is that of PIBT (`fallbacks` in the figures). Then rounds of large neighbourhood search (Li et al., 2021) plan
    small groups anew, and keep what is cheaper: the sum of the steps until each robot is at its goal to stay.
    """

    settings_class = LacamSettings
    settings: LacamSettings

    def __init__(self, network: Network, **settings: Any) -> None:
        super().__init__(network, **settings)
        if self.settings.refinements != 0 and not fits_words(network):
            raise InvalidValueError("refinements: paths are refined on grids only; set 0")
        self._step = PibtStep(network)
        self._figures = {"visited": 0.0, "fallbacks": 0.0, "refinements": 0.0, "refined_steps": 0.0}
        self._patience = Patience()

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def work(self, robots: int, window: int) -> float:
        """Return how many nodes one plan looks at: it is to the end, and every round makes parts of it again."""
        rounds = self.settings.refinements
        # Without a number of rounds each plan takes all the time there is.
        if rounds is None:
            return math.inf
        searched = (robots + rounds * self.settings.group) * TO_THE_END
        return float(searched) + (work_of_guides(robots, len(self.network)) if self.settings.guides else 0.0)

    def figures(self) -> Mapping[str, float]:
        """Return how many places of all robots were visited, windows were PIBT's, rounds made, and steps saved."""
        return dict(self._figures)

    def plan(self, problem: Problem) -> Ints:
        """Return a plan to the goals, cut to `window` steps if that is not 0."""
        _compile()
        with self.network.lock:
            return self._solved(problem)

    def _solved(self, problem: Problem) -> Ints:
        """Return paths (robots, steps) of nodes, all to the goals and refined as set, or cut to the problem's window.

        Raises PlanError where a goal cannot be reached, or, without a window, where the search ends without a plan.
        """
        late = time.monotonic() + problem.time_limit
        problem.require_ways()
        goals = apart(problem)
        try:
            paths = PlaceSearch(self, problem, goals, late).run()
        except PlanError:
            if not problem.window:
                raise
            # Other chances each time, or robots could wait for each other again and again.
            asked = replace(problem, seed=problem.seed + int(self._figures["fallbacks"]))
            self._figures["fallbacks"] += 1.0
            pibt = Pibt(self.network, allow_rotations=self.settings.allow_rotations)
            pibt.patience = self._patience
            return pibt.plan(asked)
        if self.settings.refinements != 0:
            refinement = Refinement(problem, goals, paths, self.settings.allow_rotations, self.settings.group)
            rounds = refinement.run(self.settings.refinements, late)
            paths = refinement.paths
            self._figures["refinements"] += rounds
            self._figures["refined_steps"] += refinement.saved
        if problem.window:
            length = problem.window + 1
            paths = paths[:, :length]
            # Robots that are there stay there.
            missing = np.repeat(paths[:, -1:], length - paths.shape[1], axis=1)
            return np.concatenate((paths, missing), axis=1)
        return paths


@cache
def _compile() -> None:
    """Let all kernels be compiled, or loaded, before a clock runs: it may take longer than the time limit."""
    network = Network(np.zeros((2, 2)), np.array([[1], [0]]), np.array([0, 1]), grid=Grid(np.ones((1, 2), bool)))
    problem = Problem(network, np.array([0]), np.array([1]), time_limit=1e6)
    Lacam(network, refinements=1)._solved(problem)


class PlaceSearch:
    """One search, depth first: from the places seen last to the next ones that PIBT proposes."""

    def __init__(self, planner: Lacam, problem: Problem, goals: Ints, late: float) -> None:
        self._planner, self._problem, self._goals, self._late = planner, problem, goals, late
        self._network = planner.network
        tables = self._network.tables
        tables.block(problem.blocked)
        self._rows = tables.rows_of(goals)
        self._steps = tables.steps
        self._guides = guides_of(problem, goals) if planner.settings.guides else no_guides()
        self._count = 0

    def run(self) -> Ints:
        """Return paths from the starts to the goals; raises PlanError where there are none, or not found in time."""
        goal_key = self._goals.tobytes()
        distances = self._steps[self._rows, self._problem.starts].astype(np.float64)
        first = self._visited(self._problem.starts, None, distances / FARTHEST)
        stack, known = [first], {first.places.tobytes(): first}
        while stack:
            here = stack[-1]
            if here.places.tobytes() == goal_key:
                return self._traced(here)
            if not here.untried:
                stack.pop()
                continue
            self._check_limits(len(known))
            fixed = here.untried.popleft()
            self._branch(here, fixed)
            places = self._next(here, fixed)
            if places is None:
                continue
            seen = known.get(places.tobytes())
            if seen is None:
                seen = known[places.tobytes()] = self._visited(places, here, here.waited)
                self._planner._figures["visited"] += 1.0
            # Also places that were seen before: the search goes on from there, with what is untried.
            stack.append(seen)
        raise PlanError("there is no plan: all places that the robots can get to were tried")

    def _visited(self, places: Ints, before: Visited | None, waited: Floats) -> Visited:
        home = places == self._goals
        # Who has farther to go plans first, until others have been on their way for longer.
        ranks = waited if before is None else np.where(home, waited - np.floor(waited), waited + 1.0)
        return Visited(places, before, ranks, np.argsort(-ranks, kind="stable"))

    def _branch(self, here: Visited, fixed: Ints) -> None:
        """Add to what is untried from `here` all moves of one robot more than `fixed` has."""
        if len(fixed) == len(here.places):
            return
        robot = here.order[len(fixed)]
        links = self._network.links
        ends = np.concatenate((links[here.places[robot]], here.places[robot : robot + 1]))
        columns = np.flatnonzero(ends >= 0)
        self._count += 1
        chance = np.random.default_rng((self._problem.seed, 1, self._count))
        for column in chance.permutation(columns):
            here.untried.append(np.concatenate((fixed, [[robot, column]])))

    def _next(self, here: Visited, fixed: Ints) -> Ints | None:
        """Return the next nodes of all robots, with some `fixed`, or None where the others cannot be placed.

        Each call draws other numbers for robots that are equally urgent.
        """
        self._count += 1
        then = np.empty(len(here.places), np.int64)
        found = next_places(
            self._planner._step.arrays(self._problem),
            here.places.copy(),  # the starts cannot be written to, which would be another form of the kernel
            Guidance(self._steps, self._rows, self._guides),
            here.order,
            fixed,
            np.uint64(self._problem.seed + self._count),
            self._planner.settings.allow_rotations,
            not self._network.claims,
            then,
        )
        return then if found else None

    def _check_limits(self, count: int) -> None:
        tries = self._planner.settings.tries
        if self._problem.window and self._count > tries:
            raise PlanError(f"LaCAM has found no plan in {tries} tries")
        if count > self._planner.settings.most_visited:
            raise PlanError(f"LaCAM has found no plan among {count} places of all robots")
        if self._count * len(self._goals) > self._problem.most_work:
            raise PlanError(
                f"LaCAM has found no plan among {self._problem.most_work:,.0f} nodes; a message may ask for no more"
            )
        if time.monotonic() > self._late:
            raise PlanError(f"LaCAM has found no plan in {self._problem.time_limit:g} s")

    def _traced(self, last: Visited) -> Ints:
        columns = [last.places]
        at = last.before
        while at is not None:
            columns.append(at.places)
            at = at.before
        columns.reverse()
        # A plan has two columns at least, also where all are at their goals.
        return np.stack(columns if len(columns) > 1 else columns * 2, axis=1)
