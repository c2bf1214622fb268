"""One step of PIBT, compiled. Recursion goes as deep as there are robots, so its stack is an array."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.problem import Problem
from fleet_sim.traffic.tables import Links, Steps

NOBODY = -1
UNKNOWN, MOVED, FAILED = range(3)
"""What became of the robot that was asked last to give way."""
NO_WAY = 1 << 40
"""Of a candidate from which no way leads to the goal: still better than none when a robot must give way."""

Words: TypeAlias = npt.NDArray[np.uint64]


class Step:
    """The arrays that a step works on, kept from call to call."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._standing = np.full(len(network), NOBODY, np.int32)
        self._holding = np.full(network.claims.resources(len(network)), NOBODY, np.int32)

    def arrays(self, problem: Problem, now: Ints) -> tuple[Links, Ints, Ints, Bools, Ints, Links, Links, Links, Links]:
        """Return what `run_steps` takes first."""
        network = self._network
        robots, width = len(problem), network.links.shape[1] + 1
        # Per robot: its moves in order; which is tried, how many robots it has asked, where it stands, on the stack.
        choices = np.zeros((robots, width + 4), np.int32)
        stack = np.empty(robots, np.int32)
        claims = network.claims
        return (
            *(network.links, claims.begins, claims.ids, problem.blocked, now),
            *(self._standing, self._holding, choices, stack),
        )


@compiled
def run_steps(
    links: Links,
    begins: Ints,
    ids: Ints,
    blocked: Bools,
    starts: Ints,
    standing: Links,
    holding: Links,
    choices: Links,
    stack: Links,
    goals: Ints,
    steps: Steps,
    rows: Ints,
    waited: Ints,
    seed: np.uint64,
    allow_rotations: bool,
    to_end: bool,
    columns: Ints,
) -> int:
    """Write steps to `columns` (R, T); with `to_end` stop when all are at their goals. Returns how many were made.

    `waited` (R,) is counted on for robots on their way, and 0 for those at their goals.
    """
    robots, length = columns.shape
    now, then = starts.copy(), np.full(robots, NOBODY, np.int64)
    ranks = np.empty(robots, np.float64)
    for number in range(length):
        if to_end and np.array_equal(now, goals):
            return number
        for robot in range(robots):
            ranks[robot] = -waited[robot] + 0.5 * _chance(np.uint64(0), robot, 0)
            then[robot] = NOBODY
            standing[now[robot]] = robot
        order = np.argsort(ranks)
        key = seed + np.uint64(number)
        for robot in order:
            if then[robot] == NOBODY:
                give_way(
                    links, begins, ids, blocked, now, then, standing, holding, choices, stack, steps, rows, key,
                    allow_rotations, robot,
                )  # fmt: skip
        for robot in range(robots):
            _let_go(links, begins, ids, now[robot], then[robot], holding, robot)
            standing[now[robot]] = NOBODY
        for robot in range(robots):
            now[robot] = then[robot]
            columns[robot, number] = now[robot]
            waited[robot] = 0 if now[robot] == goals[robot] else waited[robot] + 1
    return length


@compiled
def give_way(
    links: Links,
    begins: Ints,
    ids: Ints,
    blocked: Bools,
    now: Ints,
    then: Ints,
    standing: Links,
    holding: Links,
    choices: Links,
    stack: Links,
    steps: Steps,
    rows: Ints,
    key: np.uint64,
    allow_rotations: bool,
    first: int,
) -> bool:
    """Plan the step of robot `first`, and of all that must give way to it.

    `then` (R,) has the next nodes, NOBODY for robots not planned yet; `holding` has who holds what in the step. Returns
    whether it moves or stays without anybody else at its node.
    """
    width = links.shape[1] + 1
    cursor, asked, on_stack = width, width + 1, width + 3
    depth, answer = 1, UNKNOWN
    stack[0] = first
    _sort_choices(links, now, standing, choices, steps[rows[first]], key, first)
    while depth > 0:
        robot = stack[depth - 1]
        own = choices[robot]
        if answer == FAILED:
            # Who was asked stays, so this robot goes elsewhere.
            _let_go(links, begins, ids, now[robot], then[robot], holding, robot)
            then[robot] = NOBODY
            own[cursor] += 1
            own[asked] = 0
        answer = UNKNOWN
        if then[robot] == NOBODY:
            _hold_next(links, begins, ids, blocked, now, then, standing, holding, choices, allow_rotations, robot)
        if then[robot] == NOBODY:
            then[robot] = now[robot]
            alone = holding[now[robot]] == NOBODY
            holding[now[robot]] = robot
            own[on_stack] = 0
            depth -= 1
            answer = FAILED
            if depth == 0:
                return alone
            continue
        other = _next_in_the_way(links, begins, ids, then, standing, own, robot)
        if other != NOBODY:
            _sort_choices(links, now, standing, choices, steps[rows[other]], key, other)
            stack[depth] = other
            depth += 1
            continue
        own[on_stack] = 0
        depth -= 1
        answer = MOVED
    return True


@compiled
def _sort_choices(
    links: Links, now: Ints, standing: Links, choices: Links, steps: Steps, key: np.uint64, robot: int
) -> None:
    """Order the moves of `robot`: the nearest to its goal first, then those to free nodes, then by chance."""
    width = links.shape[1] + 1
    own, begin = choices[robot], now[robot]
    count = 0
    ranks = np.empty(width, np.int64)
    for column in range(width):
        node = begin if column == width - 1 else links[begin, column]
        if node < 0:
            continue
        away = np.int64(steps[node])
        taken = standing[node] >= 0 and standing[node] != robot
        rank = (NO_WAY if away < 0 else away << 20) + (1 << 19 if taken else 0) + _chance_bits(key, robot, node)
        at = count
        while at > 0 and ranks[at - 1] > rank:
            ranks[at], own[at] = ranks[at - 1], own[at - 1]
            at -= 1
        ranks[at], own[at] = rank, column
        count += 1
    for at in range(count, width):
        own[at] = NOBODY
    own[width], own[width + 1], own[width + 2], own[width + 3] = 0, 0, begin, 1


@compiled
def _hold_next(
    links: Links,
    begins: Ints,
    ids: Ints,
    blocked: Bools,
    now: Ints,
    then: Ints,
    standing: Links,
    holding: Links,
    choices: Links,
    allow_rotations: bool,
    robot: int,
) -> None:
    """Let `robot` take the first of its remaining moves that is free, if there is one."""
    width = links.shape[1] + 1
    own, begin = choices[robot], now[robot]
    while own[width] < width and own[own[width]] != NOBODY:
        column = own[own[width]]
        node = begin if column == width - 1 else links[begin, column]
        free = holding[node] == NOBODY and (node == begin or not blocked[node])
        free = free and _may_take(then, standing, holding, choices, allow_rotations, robot, begin, node)
        if free and len(ids) and node != begin:
            move = begin * links.shape[1] + column
            for at in range(begins[move], begins[move + 1]):
                free = free and holding[ids[at]] == NOBODY
                if ids[at] < len(links):
                    free = free and _may_take(then, standing, holding, choices, False, robot, begin, ids[at])
        if free:
            then[robot] = node
            holding[node] = robot
            if len(ids) and node != begin:
                move = begin * links.shape[1] + column
                for at in range(begins[move], begins[move + 1]):
                    holding[ids[at]] = robot
            return
        own[width] += 1


@compiled
def _may_take(
    then: Ints,
    standing: Links,
    holding: Links,
    choices: Links,
    allow_rotations: bool,
    robot: int,
    begin: int,
    node: int,
) -> bool:
    """Return whether `robot` may need `node`, as far as the robot on it is concerned: no swap, and no rotation."""
    other = standing[node]
    if other < 0 or other == robot or then[other] == NOBODY:
        return True
    if holding[begin] == other:
        return False
    return allow_rotations or choices[other, choices.shape[1] - 1] == 0


@compiled
def _next_in_the_way(links: Links, begins: Ints, ids: Ints, then: Ints, standing: Links, own: Links, robot: int) -> int:
    """Return the next robot without a plan that stands on what `robot` holds, NOBODY for none."""
    width = links.shape[1] + 1
    column = own[own[width]]
    if column == width - 1:
        return NOBODY
    if own[width + 1] == 0:
        own[width + 1] = 1
        other = standing[then[robot]]
        if other >= 0 and other != robot and then[other] == NOBODY:
            return other
    if len(ids):
        # The node where it stands: moves are numbered from there.
        move = own[width + 2] * links.shape[1] + column
        while begins[move] + own[width + 1] - 1 < begins[move + 1]:
            claimed = ids[begins[move] + own[width + 1] - 1]
            own[width + 1] += 1
            if claimed < len(links):
                other = standing[claimed]
                if other >= 0 and other != robot and then[other] == NOBODY:
                    return other
    return NOBODY


@compiled
def _let_go(links: Links, begins: Ints, ids: Ints, begin: int, end: int, holding: Links, robot: int) -> None:
    """Free what `robot` holds for its move, but not what another one has taken since."""
    if holding[end] == robot:
        holding[end] = NOBODY
    if len(ids) and end != begin:
        for column in range(links.shape[1]):
            if links[begin, column] == end:
                move = begin * links.shape[1] + column
                for at in range(begins[move], begins[move + 1]):
                    if holding[ids[at]] == robot:
                        holding[ids[at]] = NOBODY
                return


@compiled
def _chance_bits(key: np.uint64, robot: int, node: int) -> int:
    """Return 19 bits that depend on all three, evenly spread."""
    word = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(robot) * np.uint64(0xBF58476D1CE4E5B9)
    word += np.uint64(node) * np.uint64(0x94D049BB133111EB)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(word >> np.uint64(45))


@compiled
def _chance(key: np.uint64, robot: int, node: int) -> float:
    """Return a number from 0 to 1."""
    return _chance_bits(key, robot, node) / 524288.0
