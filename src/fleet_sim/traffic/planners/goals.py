"""Goals that all robots can be at together."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.traffic.problem import Problem


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
