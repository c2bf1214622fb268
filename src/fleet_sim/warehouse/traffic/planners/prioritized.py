"""Prioritised planning: robots plan one after the other, in a window of time.

Silver, "Cooperative pathfinding" (AIIDE 2005). `plan_in_turn` plans the robots in an order, `reserved.py` finds the
path of one among the reservations of those before it. The order decides who has to go around whom, so a robot that
finds no path is put first and all plan again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.base.kernels import compiled
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.traffic.network import Network, Steps
from fleet_sim.warehouse.traffic.planners.guides import apart
from fleet_sim.warehouse.traffic.planners.pibt import Patience
from fleet_sim.warehouse.traffic.planners.planner import Planner, PlannerSettings, plan_nothing
from fleet_sim.warehouse.traffic.planners.reserved import NOBODY, Reservations, Reserved, find_path, reserve
from fleet_sim.warehouse.traffic.problem import Problem

# Plans of robots one after the other, each among the reservations of those before it; compiled.


@compiled
def plan_in_turn(
    reserved: Reserved,
    steps: Steps,
    rows: Ints,
    starts: Ints,
    goals: Ints,
    order: Ints,
    reorders: int,
    to_end: bool,
    rotate: bool,
    paths: Ints,
) -> tuple[int, int]:
    """Write `paths` (R, T + 1), planned in `order`, which changes; all of `reserved.held` is NOBODY before.

    A robot for which there is no path goes first in another attempt, up to `reorders` times. After that it waits all
    the time, and those whose paths lead over its place plan anew. Returns how often a robot went first, and how many
    wait; with `to_end` nobody waits for want of a path, and the latter is -1 where there is none.
    """
    links, begins, ids, held = reserved.links, reserved.begins, reserved.ids, reserved.held
    robots, length = paths.shape
    queue, queued = order.copy(), np.ones(robots, np.bool_)
    first, count, reordered, waiting = 0, robots, 0, 0
    while count > 0:
        robot = queue[first]
        first, count = (first + 1) % robots, count - 1
        queued[robot] = False
        own = steps[rows[robot]]
        most = own[starts[robot]] + 2 * length
        cost = find_path(reserved, own, starts[robot], goals[robot], to_end, most, rotate, paths[robot])
        if cost >= 0:
            reserve(links, begins, ids, held, paths[robot], robot)
        elif reordered < reorders:
            reordered += 1
            for other in range(robots):
                if not queued[other] and other != robot:
                    reserve(links, begins, ids, held, paths[other], NOBODY)
            _to_front(order, robot)
            queue[:] = order
            queued[:] = True
            first, count = 0, robots
        elif to_end:
            return reordered, -1
        else:
            waiting += 1
            for step in range(length):
                other = held[step, starts[robot]]
                if other != NOBODY:
                    reserve(links, begins, ids, held, paths[other], NOBODY)
                    queue[(first + count) % robots] = other
                    queued[other] = True
                    count += 1
            paths[robot] = starts[robot]
            reserve(links, begins, ids, held, paths[robot], robot)
    return reordered, waiting


@compiled
def _to_front(order: Ints, robot: int) -> None:
    """Move `robot` to the front of `order`; the others keep theirs."""
    at = 0
    while order[at] != robot:
        at += 1
    for number in range(at, 0, -1):
        order[number] = order[number - 1]
    order[0] = robot


MOST_STATES = 200_000_000
"""Nodes by steps that are searched: more take more than 3 GB."""


@dataclass
class PrioritizedSettings(PlannerSettings):
    """Settings of prioritised planning."""

    allow_rotations: bool = setting(
        False, doc="Whether robots may move round in a circle at once; their discs need room: 0.7 of a cell at most."
    )
    reorders: int = setting(10, low=0, high=100_000, doc="How often a robot without a path may plan first instead.")
    most_steps: int = setting(500, low=1, high=100_000, doc="Of a plan to the end.")


class Prioritized(Planner):
    """Plans robot after robot by A* in space and time, each around the paths of those before it (Silver, 2005).

    Who has been on its way for longest plans first, others in an order by chance. Within a window there always is a
    plan: a robot for which no path is left plans first in another attempt, or in the end waits where it is and the
    others plan around it; `figures` says how often. Without a window robots with a common goal are sent to nodes around
    it, and there may be no plan, as no robot gives way to one that plans later; then PlanError is raised.
    """

    settings_class = PrioritizedSettings
    settings: PrioritizedSettings

    def __init__(self, network: Network, **settings: Any) -> None:
        super().__init__(network, **settings)
        self._patience = Patience()
        self._reservations = Reservations(network, 1)
        self._figures = {"reordered": 0.0, "waited": 0.0}

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def work(self, robots: int, window: int) -> float:
        """Return how many nodes one plan looks at: of each step more than of the one before, at most all there are."""
        length = window or self.settings.most_steps
        return float(robots * length * min(length, len(self.network)) * (1 + self.settings.reorders))

    def figures(self) -> Mapping[str, float]:
        """Return how often a robot was put first, and how many had to wait for a whole window."""
        return dict(self._figures)

    def plan(self, problem: Problem) -> Ints:
        """Return `window` steps, or a plan to the end."""
        with self.network.lock:
            return self._planned(problem)

    def _planned(self, problem: Problem) -> Ints:
        """Return paths (robots, steps), planned one robot after the other; who has waited longest comes first.

        Raises PlanError where a plan to the end is asked for and no order tried gives one.
        """
        problem.require_ways()
        # In a window robots need not stand at their goals, so several may have one.
        goals = problem.goals if problem.window else apart(problem)
        length = problem.window or self.settings.most_steps
        reservations = self._empty(length)
        tables = self.network.tables
        tables.block(problem.blocked)
        rows = tables.rows_of(goals)
        # Other chances in each call, so that it is not always the same ones that wait.
        chance = np.random.default_rng((problem.seed, self._patience.calls)).random(len(problem))
        order = np.argsort(-(self._patience.waited(problem) + chance), kind="stable")
        paths = np.empty((len(problem), length + 1), np.int64)
        reordered, waiting = plan_in_turn(
            reservations.arrays(problem.blocked.copy()),
            *(tables.steps, rows, problem.starts.copy(), goals.copy(), order),
            self.settings.reorders,
            not problem.window,
            self.settings.allow_rotations,
            paths,
        )
        self._figures["reordered"] += reordered
        self._figures["waited"] += max(waiting, 0)
        if waiting < 0:
            raise PlanError(
                f"prioritised planning finds no plan of {length} steps to the end, after {reordered} other orders;"
                " plan with lacam"
            )
        if problem.window:
            return paths
        # Without the steps at the end in which all stand at their goals.
        away = np.flatnonzero((paths != goals[:, None]).any(axis=0))
        return paths[:, : max(int(away.max(initial=-1)) + 2, 2)]

    def _empty(self, length: int) -> Reservations:
        if (length + 1) * len(self.network) > MOST_STATES:
            raise InvalidValueError(f"{length} steps on {len(self.network)} nodes are too many; plan a window")
        if len(self._reservations.held) != length + 1:
            self._reservations = Reservations(self.network, length)
        self._reservations.clear()
        return self._reservations


# A*: the shortest path of one robot.


class AStar(Planner):
    """Plans the shortest path of a single robot; it refuses problems with more, since nobody would give way."""

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def plan(self, problem: Problem) -> Ints:
        """Return the path to the goal, or its first `window` steps, waiting at the goal; of equal ones the first."""
        if len(problem) != 1:
            raise PlanError(f"astar plans for one robot, not for {len(problem)}; plan with pibt, lacam or prioritized")
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
