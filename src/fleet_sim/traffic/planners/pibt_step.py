"""Steps of PIBT for all robots, compiled."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled, compiled_step
from fleet_sim.saved_classes import saved
from fleet_sim.traffic.circles import are_in_order
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.planners.giving_way import (
    KEPT,
    NOBODY,
    ON_STACK,
    chance,
    give_way,
    is_shut,
    let_go,
)
from fleet_sim.traffic.planners.queueing import OWN_PLACE
from fleet_sim.traffic.planners.step_arrays import Guidance, StepArrays, look_ahead
from fleet_sim.traffic.problem import EVERYWHERE, Problem

FIRST = 1e9
"""Beyond all waiting: by how much wide robots on their way are more urgent than others."""


@saved
class PibtStep:
    """The arrays that a step works on, kept from call to call."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._standing = np.full(len(network), NOBODY, np.int32)
        self._holding = np.full(network.claims.resources(len(network)), NOBODY, np.int32)

    def arrays(self, problem: Problem) -> StepArrays:
        """Return what steps of `problem` work on."""
        network = self._network
        robots, width = len(problem), network.links.shape[1] + 1
        choices = np.zeros((robots, width + KEPT), np.int32)
        stack, remaining = np.empty(robots, np.int32), np.empty((robots, width), np.int32)
        claims = network.claims
        return StepArrays(
            *(network.links, claims.begins, claims.ids, problem.bars, problem.passes, self._standing, self._holding),
            choices,
            stack,
            np.empty(width, np.int64),
            remaining,
        )


@compiled
def run_steps(
    arrays: StepArrays,
    starts: Ints,
    goals: Ints,
    wishes: Guidance,
    waited: Ints,
    seed: np.uint64,
    allow_rotations: bool,
    swaps: bool,
    to_end: bool,
    columns: Ints,
) -> int:
    """Write steps to `columns` (R, T); with `to_end` stop when all are at their goals. Returns how many were made.

    `waited` (R,) is counted on for robots on their way, and 0 for those at their goals.
    """
    links, begins, ids, _, passes, standing, holding, _, _, _, remaining = arrays
    robots, length = columns.shape
    now, then = starts.copy(), np.full(robots, NOBODY, np.int64)
    urgency = np.empty(robots, np.float64)
    for number in range(length):
        if to_end and np.array_equal(now, goals):
            return number
        for robot in range(robots):
            # Who has waited longest goes first. Among equals the same chance decides in each step, or nobody would get
            # ahead.
            urgency[robot] = -waited[robot] + 0.5 * chance(np.uint64(0), robot, 0)
            # Places beside shelves are dead ends to wide robots only: narrow ones can always make room there.
            if passes[robot] != EVERYWHERE and now[robot] != goals[robot]:
                urgency[robot] -= FIRST
            then[robot] = NOBODY
            standing[now[robot]] = robot
        order = np.argsort(urgency)
        look_ahead(links, now, wishes.steps, wishes.rows, remaining)
        # In each step other chances.
        key = seed + np.uint64(number)
        for robot in order:
            if then[robot] == NOBODY:
                give_way(arrays, now, then, wishes, key, allow_rotations, swaps, robot)
        # Empty again for the next step, as the arrays are kept.
        for robot in range(robots):
            let_go(links, begins, ids, now[robot], then[robot], holding, robot)
            standing[now[robot]] = NOBODY
        for robot in range(robots):
            now[robot] = then[robot]
            columns[robot, number] = now[robot]
            waited[robot] = 0 if now[robot] == goals[robot] or wishes.rows[robot] == OWN_PLACE else waited[robot] + 1
    return length


@compiled
def next_places(
    arrays: StepArrays,
    now: Ints,
    wishes: Guidance,
    order: Ints,
    fixed: Ints,
    key: np.uint64,
    allow_rotations: bool,
    swaps: bool,
    then: Ints,
) -> bool:
    """Write the next nodes (R,) of all robots to `then`, planned in `order`; returns whether there are any.

    `fixed` (C, 2) has robots and the columns of the moves that they must make, K for waiting.
    """
    links, begins, ids, _, _, standing, holding, choices, _, _, remaining = arrays
    robots = len(now)
    for robot in range(robots):
        standing[now[robot]] = robot
        then[robot] = NOBODY
        choices[robot, choices.shape[1] - KEPT + ON_STACK] = 0
    look_ahead(links, now, wishes.steps, wishes.rows, remaining)
    sound = True
    for number in range(len(fixed)):
        sound = sound and _fix(arrays, now, then, fixed[number])
    for robot in order:
        if sound and then[robot] == NOBODY:
            sound = give_way(arrays, now, then, wishes, key, allow_rotations, swaps, robot)
    # Fixed robots have asked nobody, so circles and swaps with them are found only now.
    if sound and len(fixed):
        sound = are_in_order(links, begins, ids, now, then, standing, holding, allow_rotations)
    for robot in range(robots):
        if then[robot] != NOBODY:
            let_go(links, begins, ids, now[robot], then[robot], holding, robot)
        standing[now[robot]] = NOBODY
    return sound


@compiled_step
def _fix(arrays: StepArrays, now: Ints, then: Ints, fixed: Ints) -> bool:
    """Let a robot make the move that it must make; returns whether it can."""
    links, begins, ids, bars, passes, _, holding, _, _, _, _ = arrays
    robot, column = fixed
    begin = now[robot]
    node = begin if column == links.shape[1] else links[begin, column]
    if holding[node] != NOBODY or (node != begin and is_shut(bars, passes, robot, node)):
        return False
    move = begin * links.shape[1] + column
    if len(ids) and node != begin:
        for at in range(begins[move], begins[move + 1]):
            if holding[ids[at]] != NOBODY:
                return False
        # Held only now: a move that cannot be made leaves nothing.
        for at in range(begins[move], begins[move + 1]):
            holding[ids[at]] = robot
    holding[node] = robot
    then[robot] = node
    return True
