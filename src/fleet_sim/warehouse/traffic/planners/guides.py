"""Guides: ways that keep apart, for robots to prefer in the first plan of a crowd (Okumura, 2024, calls it scatter).

Shortest ways all lead through the same few cells. A robot that may take some steps more finds a way on which it meets
fewer others, and a crowd that follows such ways gets in its own way less.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.base.kernels import compiled
from fleet_sim.warehouse.traffic.network import Links, Network, Steps
from fleet_sim.warehouse.traffic.problem import Problem

MARGIN = 10
"""Steps that a guide may be longer than the shortest way."""
TURNS = 3
"""How often each robot looks for a better guide, with those of all others known."""
MOST_LOOKED_AT = 100_000_000
"""Robots by nodes by steps: more than that take half a second, and crowds so large have no guides."""
UNGUIDED = -1
NEVER = 1 << 40

Columns = npt.NDArray[np.int8]


def no_guides() -> Columns:
    """Return what stands for no guides."""
    return np.empty((0, 0), np.int8)


def work_of_guides(robots: int, nodes: int) -> float:
    """Return how many nodes a planner looks at in the time that guides take, where ways are as long as on a square."""
    return min(robots * nodes * (2.0 * nodes**0.5 + MARGIN), MOST_LOOKED_AT) / 100.0


def guides_of(problem: Problem, goals: Ints) -> Columns:
    """Return the column of the move (R, N) that each robot prefers at each node, UNGUIDED for none.

    Tables of distances to `goals` are made. Without robots or where there are too many there are no guides.
    """
    network, robots = problem.network, len(problem)
    rows = network.tables.rows_of(goals)
    steps = network.tables.steps
    length = int(steps[rows, problem.starts].max(initial=0)) + MARGIN
    if robots * (length + 1) * len(network) > MOST_LOOKED_AT:
        return no_guides()
    guides = np.full((robots, len(network)), UNGUIDED, np.int8)
    paths = np.full((robots, length + 1), UNGUIDED, np.int64)
    crowd = Traces(network, length)
    # In another order in each turn, as those that choose first have more to choose from.
    order = np.random.default_rng((problem.seed, 2)).permutation(np.tile(np.arange(robots), (TURNS, 1)), axis=1)
    # Row after row for one robot as for many: another layout would be compiled anew, while the time limit runs.
    order = np.ascontiguousarray(order)
    find_guides(
        *(network.links, problem.blocked, steps, rows, problem.starts, goals, order),
        *(crowd.here, crowd.moving, crowd.met, crowd.came, paths, guides),
    )
    return guides


class Traces:
    """How many robots are `here` (T + 1, N) at each step, and are `moving` (T, N, K) from there; and scratch."""

    def __init__(self, network: Network, length: int) -> None:
        count, width = network.links.shape
        self.here = np.zeros((length + 1, count), np.int32)
        self.moving = np.zeros((length, count, width), np.int32)
        self.met = np.full((length + 1, count), NEVER, np.int64)
        self.came = np.full((length + 1, count), UNGUIDED, np.int32)


@compiled
def find_guides(
    links: Links,
    blocked: Bools,
    steps: Steps,
    rows: Ints,
    starts: Ints,
    goals: Ints,
    order: Ints,
    here: Links,
    moving: npt.NDArray[np.int32],
    met: Ints,
    came: Links,
    paths: Ints,
    guides: Columns,
) -> None:
    """Write `guides` (R, N): each robot in turn, as `order` (turns, R) has them, takes the way that meets fewest."""
    for turn in range(len(order)):
        for robot in order[turn]:
            # Its own way of the last turn is not in its way.
            if paths[robot, 0] != UNGUIDED:
                _count(links, here, moving, paths[robot], -1)
            own = steps[rows[robot]]
            last = _meet(links, blocked, own, starts[robot], goals[robot], here, moving, met, came)
            _trace_back(links, goals[robot], last, came, paths[robot])
            _count(links, here, moving, paths[robot], 1)
    for robot in range(len(paths)):
        path = paths[robot]
        for step in range(len(path) - 1):
            for column in range(links.shape[1]):
                if path[step] != path[step + 1] and links[path[step], column] == path[step + 1]:
                    guides[robot, path[step]] = column


@compiled
def _meet(
    links: Links,
    blocked: Bools,
    steps: Steps,
    start: int,
    goal: int,
    here: Links,
    moving: npt.NDArray[np.int32],
    met: Ints,
    came: Links,
) -> int:
    """Write how many robots are met at least on the way to each node at each step; returns the best step of arrival."""
    length = min(len(here) - 1, steps[start] + MARGIN)
    met[: length + 1] = NEVER
    met[0, start] = 0
    for step in range(length):
        for node in range(len(links)):
            if met[step, node] >= NEVER or node == goal:
                continue
            for column in range(links.shape[1]):
                end = links[node, column]
                # Ways that are too long by now are left out.
                if end < 0 or blocked[end] or steps[end] < 0 or step + 1 + steps[end] > length:
                    continue
                # Met are those at the node at that time, and those that come the other way on the edge.
                more = met[step, node] + here[step + 1, end]
                for back in range(links.shape[1]):
                    if links[end, back] == node:
                        more += moving[step, end, back]
                if more < met[step + 1, end]:
                    met[step + 1, end], came[step + 1, end] = more, node
    best = steps[start]
    for step in range(length + 1):
        if met[step, goal] < met[best, goal]:
            best = step
    return int(best)


@compiled
def _trace_back(links: Links, goal: int, last: int, came: Links, path: Ints) -> None:
    # It stays at its goal until the end.
    path[last:] = goal
    for step in range(last, 0, -1):
        path[step - 1] = came[step, path[step]]


@compiled
def _count(links: Links, here: Links, moving: npt.NDArray[np.int32], path: Ints, change: int) -> None:
    """Count a path in, or with `change` -1 out again."""
    for step in range(len(path)):
        here[step, path[step]] += change
    for step in range(len(path) - 1):
        for column in range(links.shape[1]):
            if path[step] != path[step + 1] and links[path[step], column] == path[step + 1]:
                moving[step, path[step], column] += change


# Goals that all robots can be at together.


def apart(problem: Problem) -> Ints:
    """Return the goals (R,) of `problem`, each for one robot only: of those with one goal the nearest has it.

    The others get the nearest nodes around it that are nobody's goal, that robots could leave for it, and that they
    can get to; where there is none, where they start.
    """
    goals = problem.goals.copy()
    _, first, times = np.unique(goals, return_index=True, return_counts=True)
    if (times == 1).all():
        return goals
    tables = problem.network.tables
    tables.block(problem.blocked)
    taken = np.zeros(len(problem.network), bool)
    taken[goals] = True
    for goal in goals[np.sort(first[times > 1])].tolist():
        robots = np.flatnonzero(problem.goals == goal)
        steps = tables.to(goal)
        nearest_first = robots[np.argsort(steps[problem.starts[robots]], kind="stable")]
        free = np.flatnonzero((steps >= 0) & ~taken & ~problem.blocked)
        around = free[np.argsort(steps[free], kind="stable")]
        for robot in nearest_first[1:].tolist():
            goals[robot] = _first_reachable(problem, around, taken, robot)
            taken[goals[robot]] = True
    return goals


def _first_reachable(problem: Problem, around: Ints, taken: Ints, robot: int) -> int:
    for node in around.tolist():
        if not taken[node] and problem.network.tables.to(node)[problem.starts[robot]] >= 0:
            return node
    return int(problem.starts[robot])
