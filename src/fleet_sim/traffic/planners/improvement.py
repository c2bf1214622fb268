"""Rounds of large neighbourhood search: a group of robots is planned anew among the paths of all others; compiled.

Li, Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search" (IJCAI 2021).
Sizes of groups are chosen by what they have saved so far for the searches that they took. A group whose new paths would
cost more gets its old ones back, so the cost never grows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.planners.chances import below
from fleet_sim.traffic.planners.groups import choose_group
from fleet_sim.traffic.planners.reserved import NOBODY, Reserved, find_path, reserve
from fleet_sim.traffic.planners.timetable import GridWords, Timetable, put, take
from fleet_sim.traffic.planners.wavefront import find_way
from fleet_sim.traffic.tables import Steps, Words

FADING = 0.999
"""What gains of the past count as after each round."""
CURIOUS = 4
"""One round in so many has a group of any size, the others the size that has gained most."""


class HeldSteps(NamedTuple):
    """Who is where at each step: as bits in `table` if `words` has nodes, that is on grids, else in `reserved`."""

    reserved: Reserved
    words: GridWords
    table: Timetable


class RobotPaths(NamedTuple):
    """`paths` (R, T + 1) of robots to their `goals`, and their `costs`; `rows` are those of `steps` to the goals."""

    steps: Steps
    rows: Ints
    goals: Ints
    paths: Ints
    costs: Ints


@compiled
def improve(
    board: HeldSteps,
    robots: RobotPaths,
    gains: Floats,
    rounds: int,
    rotate: bool,
    chances: Words,
) -> int:
    """Plan `rounds` groups anew, in the paths and costs of `robots`; returns the steps saved.

    `gains` (2, S + 1) has by the size of groups, up to S, the steps saved and the searches made for that.
    """
    steps, rows, _, paths, costs = robots
    most, length = min(gains.shape[1] - 1, len(paths)), paths.shape[1]
    old_paths, old_costs = np.empty((most, length), np.int64), np.empty(most, np.int64)
    saved = 0
    for _ in range(rounds):
        group = np.empty(_size(gains, most, chances), np.int64)
        choose_group(board.reserved.links, board.reserved.held, steps, rows, paths, costs, chances, group)
        before = 0
        # The paths of the group are given back first, so that it can be planned through them.
        for number in range(len(group)):
            robot = group[number]
            old_paths[number], old_costs[number] = paths[robot], costs[robot]
            before += costs[robot]
            hold(board, paths, robot, rotate, NOBODY)
        planned, left = _plan(board, robots, group, before, rotate, chances)
        # Old gains count less, as what pays off changes with the plan.
        gains *= FADING
        gains[1, len(group)] += planned + 1
        if planned == len(group):
            gains[0, len(group)] += left
            saved += left
            continue
        # It costs more, or somebody has no path: give back what was planned, and hold the old paths again.
        for number in range(planned):
            hold(board, paths, group[number], rotate, NOBODY)
        _put_back(board, paths, costs, group, old_paths, old_costs, rotate)
    return saved


@compiled
def _put_back(
    board: HeldSteps, paths: Ints, costs: Ints, group: Ints, old_paths: Ints, old_costs: Ints, rotate: bool
) -> None:
    """Give the robots of `group` the paths that they had."""
    for number in range(len(group)):
        robot = group[number]
        paths[robot], costs[robot] = old_paths[number], old_costs[number]
        hold(board, paths, robot, rotate, robot)


@compiled
def _size(gains: Floats, most: int, chances: Words) -> int:
    """Return how many robots to plan anew."""
    if below(chances, CURIOUS) == 0:
        return 1 + below(chances, most)
    best = 1
    for size in range(2, most + 1):
        # Compares gain per search, without dividing by 0.
        if gains[0, size] * gains[1, best] > gains[0, best] * gains[1, size]:
            best = size
    return best


@compiled
def _plan(
    board: HeldSteps, robots: RobotPaths, group: Ints, left: int, rotate: bool, chances: Words
) -> tuple[int, int]:
    """Plan the robots of `group` in turn, at the cost `left` together at most; returns how many have a path, and what
    is left of the cost."""
    steps, rows, goals, paths, costs = robots
    least, planned = 0, 0
    # The least that all of them can cost together.
    for robot in group:
        least += steps[rows[robot], paths[robot, 0]]
    for robot in group:
        own = steps[rows[robot]]
        least -= own[paths[robot, 0]]
        # What those after it need at least is kept for them.
        most = min(left - least, paths.shape[1] - 1)
        cost = _search(board, own, paths[robot, 0], goals[robot], most, rotate, chances, paths[robot])
        if cost < 0:
            break
        costs[robot] = cost
        left -= cost
        hold(board, paths, robot, rotate, robot)
        planned += 1
    return planned, left


@compiled
def _search(
    board: HeldSteps, steps: Steps, start: int, goal: int, most: int, rotate: bool, chances: Words, path: Ints
) -> int:
    """Write the cheapest way among all others to `path`; returns its cost, -1 where there is none up to `most`."""
    if len(board.words.word):
        return find_way(board.words, board.table, start, goal, int(steps[start]), most, chances, path)
    return find_path(board.reserved, steps, start, goal, True, most, rotate, path)


@compiled
def hold(board: HeldSteps, paths: Ints, robot: int, rotate: bool, holder: int) -> None:
    """Hold what the path of `robot` needs for it as `holder`; with NOBODY, give it back."""
    if not len(board.words.word):
        reserved = board.reserved
        reserve(reserved.links, reserved.begins, reserved.ids, reserved.held, paths[robot], holder)
    elif holder == NOBODY:
        take(board.words, board.table, paths, robot, rotate)
    else:
        put(board.words, board.table, paths, robot, rotate)
