"""The benchmark's plan: the cases of the comparison, the cases of fleet_sim only, and the budgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from results import Results
from workload import Case

PEER_LIMIT = 10_000
FULL_SIZES = (100, 1_000, 10_000, 100_000)
QUICK_SIZES = (1_000, 10_000)
MILLION = 1_000_000


@dataclass(frozen=True)
class Budget:
    """A limit: `measure` of the results of `case` must be at most, or with `least` at least, `limit`."""

    what: str
    limit: float
    unit: str
    case: Case
    measure: Callable[[Results, Case], float | None]
    least: bool = False

    def verdict(self, value: float | None) -> str:
        """Return "met", or the factor by which it was missed."""
        if value is None:
            return "not measured"
        factor = self.limit / value if self.least else value / self.limit
        return "met" if factor <= 1.0 else f"missed by {factor:.2f}x"


class Plan:
    """Cases and budgets for fleets of `sizes`; `quick` keeps only "half moving, omnidirectional, with collisions"."""

    def __init__(self, sizes: Sequence[int], *, quick: bool, steps: int | None, clock: str = "wall") -> None:
        self.sizes = tuple(sizes)
        self._quick = quick
        self._steps = steps
        self._clock = clock

    def basic(self, robots: int) -> Case:
        """Return the case of the budgets: half moving, omnidirectional, collisions in each step."""
        return Case(robots, self._steps or self._default_steps(robots), clock=self._clock)

    def compared(self) -> list[Case]:
        """Return the cases of the table, those for both simulators and those the peer is too slow for."""
        basics = [self.basic(robots) for robots in self.sizes]
        if self._quick:
            return basics
        variants = list(product(("half", "all"), ("omni", "differential"), (True, False)))
        return [
            replace(case, moving=moving, motion=motion, collisions=collisions)
            for case in basics
            for moving, motion, collisions in variants
        ]

    def own(self) -> list[Case]:
        """Return the cases of fleet_sim only: poses written in each step, bodies for all robots, a million robots."""
        basics = [self.basic(robots) for robots in self.sizes if robots <= PEER_LIMIT]
        largest = [] if self._quick else [self.basic(MILLION)]
        return largest + [self.flushed(case) for case in basics] + [self.bodied(case) for case in basics]

    def parity(self) -> list[Case]:
        """Return the cases in which both simulators must count the same."""
        return [replace(self.basic(robots), margin=0.0) for robots in self.sizes if robots <= PEER_LIMIT]

    def budgets(self) -> list[Budget]:
        """Return the core's budgets."""
        one, ten, hundred, million = (self.basic(robots) for robots in (1_000, 10_000, 100_000, MILLION))
        step, ratio = Results.step_ms, Results.ratio
        spawn, memory = Results.spawn_ms, Results.kb_per_robot
        return [
            Budget("step, 1,000 robots, pose_flush demand", 0.2, "ms", one, step),
            Budget("step, 1,000 robots, pose_flush step", 1.0, "ms", self.flushed(one), step),
            Budget("faster than the peer, 1,000 robots", 70.0, "x", one, ratio, least=True),
            Budget("step, 10,000 robots", 0.7, "ms", ten, step),
            Budget("faster than the peer, 10,000 robots", 280.0, "x", ten, ratio, least=True),
            Budget("step, 100,000 robots", 6.0, "ms", hundred, step),
            Budget("step, 1,000,000 robots", 100.0, "ms", million, step),
            Budget("memory per robot, 1,000,000 robots, after the run", 1.0, "kB", million, Results.kb_after_run),
            Budget("spawn 10,000 robots, bodies on demand", 150.0, "ms", ten, spawn),
            Budget("spawn 10,000 robots, all PyBullet bodies", 800.0, "ms", self.bodied(ten), spawn),
            Budget("memory per robot, spawned, no PyBullet body", 2.0, "kB", ten, memory),
            Budget("memory per robot, after the run, no PyBullet body", 2.0, "kB", ten, Results.kb_after_run),
            Budget("memory per robot, spawned, with PyBullet body", 12.0, "kB", self.bodied(ten), memory),
            Budget("memory per robot, after the run, with body", 12.0, "kB", self.bodied(ten), Results.kb_after_run),
        ]

    @staticmethod
    def flushed(case: Case) -> Case:
        """Return the case with every moved pose written to PyBullet in each step."""
        return replace(case, flush="step")

    @staticmethod
    def bodied(case: Case) -> Case:
        """Return the case in which PyBullet has every robot and follows each step, because its client was read."""
        return replace(case, bodies=True)

    def _default_steps(self, robots: int) -> int:
        if robots > PEER_LIMIT:
            return 20 if robots < MILLION else 8
        if self._quick:
            return 60 if robots < PEER_LIMIT else 10
        return 100 if robots < PEER_LIMIT else 30
