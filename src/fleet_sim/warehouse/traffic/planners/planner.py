"""The interface of planners, and the way to a plan that robots may drive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import FleetSimError, InvalidValueError, PlanError
from fleet_sim.base.settings import Checked, read
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.problem import Problem, check_paths

ONE_CELL = "plans for robots of a cell each, and here some take more, or have zones of their own; use pibt"
NO_BARS = "does not keep robots that carry something wide away from what stands in their way; use pibt"
USUAL_WINDOW = 10
"""Steps that are enough for most planners to see who is in the way."""

TO_THE_END = 1000
"""Steps that a plan to the end is counted with."""


@dataclass
class PlannerSettings(Checked):
    """The settings of a planner; one that has some derives its own class, a field made with `setting` for each."""


class Planner(ABC):
    """Plans paths for all robots on one network.

    The same calls in the same order give the same plans. A planner may remember what it was asked before.
    """

    settings_class: ClassVar[type[PlannerSettings]] = PlannerSettings

    keeps_bars: ClassVar[bool] = False
    """Whether its plans keep wide robots off barred nodes; others are not asked where there are such robots."""

    keeps_stands: ClassVar[bool] = False
    """Whether robots of its plans hold `network.stands`; others are not asked where there are such."""

    def __init__(self, network: Network, **settings: Any) -> None:
        """Raises ConfigError for an unknown setting, or one that is out of its range.

        Raises InvalidValueError where `allow_rotations` is set and robots cannot rotate on this network.
        """
        self.network = network
        self.settings = read(self.settings_class, settings, path=f"planner {type(self).__name__}")
        if getattr(self.settings, "allow_rotations", False) and (network.claims or network.stands):
            raise InvalidValueError("allow_rotations: lanes of this network are too near to each other for rotations")

    def prepare(self) -> None:
        """Do what takes long at first, such as compiling kernels; called once, of an instance that plans nothing else.

        No time limit holds for it, and it takes no simulated time.
        """
        return

    @abstractmethod
    def plan(self, problem: Problem) -> Ints:
        """Return paths (R, T + 1): the node of each robot at each step, from its start on.

        T is at least 1, and at least the window unless all robots have arrived before. Raises PlanError where there is
        no plan, or none is found in time.
        """

    def window_for(self, least: int) -> int:
        """Return how many steps to plan where no window is set; robots drive `least` until the next plan, at most."""
        return max(least, USUAL_WINDOW)

    def work(self, robots: int, window: int) -> float:
        """Return how many nodes about one plan of `window` steps looks at, 0 steps: to the end; messages have a budget.

        A million of them take about half a second.
        """
        return float(robots * (window or TO_THE_END))

    def figures(self) -> Mapping[str, float]:
        """Return what the planner counts, such as how often it had to fall back, since it was made."""
        return {}


def plan_nothing(planner: Planner) -> None:
    """Plan for one robot that is at its goal, so that all kernels are compiled, or loaded."""
    start = np.zeros(1, np.int64)
    checked_plan(planner, Problem(planner.network, start, start, window=1, time_limit=1e6))


def checked_plan(planner: Planner, problem: Problem) -> Ints:
    """Return the plan of `planner` after all checks; raises PlanError where it has none, or an invalid one.

    Whatever a user's planner raises is the cause of that error.
    """
    name = type(planner).__name__
    if problem.has_bars and not planner.keeps_bars:
        raise PlanError(f"planner {name} {NO_BARS}")
    try:
        paths = planner.plan(problem)
    except FleetSimError:
        raise
    except Exception as error:  # whatever a user's planner raises
        raise PlanError(f"planner {name} failed ({type(error).__name__}: {error})") from error
    try:
        return check_paths(problem, paths)
    except PlanError as error:
        raise PlanError(f"planner {name}: {error}") from error


class AStar(Planner):
    """Plans the shortest path of a single robot; it refuses problems with more, since nobody would give way."""

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def plan(self, problem: Problem) -> Ints:
        """Return the path to the goal, or its first `window` steps, waiting at the goal; of equal ones the first."""
        if len(problem) != 1:
            raise PlanError(f"astar plans for one robot, not for {len(problem)}; plan with pibt or lacam")
        with self.network.lock:
            problem.require_ways()
            steps = self.network.distances(int(problem.goals[0]))
        nodes = [int(problem.starts[0])]
        while nodes[-1] != problem.goals[0] and (not problem.window or len(nodes) <= problem.window):
            ends = self.network.neighbours[nodes[-1]]
            # The table has the exact distances, so that nothing needs to be searched.
            nearer = (ends >= 0) & (steps[ends] == steps[nodes[-1]] - 1) & ~problem.blocked[ends]
            nodes.append(int(ends[np.argmax(nearer)]))
        missing = max(problem.window, 1) + 1 - len(nodes)
        return np.array([nodes + nodes[-1:] * missing], np.int64)
