"""Paths of one robot among reservations of others, in space and time; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Ints
from fleet_sim.kernels import compiled
from fleet_sim.saved_classes import saved
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.tables import Links, Steps

NOBODY = -1
MOST_SEARCHES = 1 << 30
"""Before their numbers begin again."""


class Reserved(NamedTuple):
    """What searches among reservations read: the network, `begins` and `ids` being the claims of its moves, nodes that
    are `blocked` (N,), who holds what (`held`), and `marks`, room to work in."""

    links: Links
    begins: Ints
    ids: Ints
    blocked: Bools
    held: Links
    marks: Links


@saved
class Reservations:
    """Who holds what at which step: `held` (T + 1, resources), NOBODY where it is free; and scratch for searches.

    What is held at the last step is held for ever.
    """

    def __init__(self, network: Network, length: int) -> None:
        claims = network.claims
        self.held = np.full((length + 1, claims.resources(len(network))), NOBODY, np.int32)
        # By state, step * N + node: the search that saw it last, the node before it, the next open one of its cost.
        # The number of the last search is behind those of the states.
        self.marks = np.zeros((3, (length + 1) * len(network) + 1), np.int32)
        self._network = network

    def clear(self) -> None:
        """Take back all reservations."""
        self.held.fill(NOBODY)

    def reserve(self, path: Ints, robot: int) -> None:
        """Hold for `robot` what its path (T + 1,) needs; with `robot` NOBODY give it back."""
        claims = self._network.claims
        reserve(self._network.links, claims.begins, claims.ids, self.held, path, robot)

    def arrays(self, blocked: Bools) -> Reserved:
        """Return what searches read where nodes are `blocked` (N,)."""
        if self.marks[0, -1] > MOST_SEARCHES:
            self.marks[0].fill(0)
        claims = self._network.claims
        return Reserved(self._network.links, claims.begins, claims.ids, blocked, self.held, self.marks)


@compiled
def reserve(links: Links, begins: Ints, ids: Ints, held: Links, path: Ints, robot: int) -> None:
    """Hold for `robot` what its path (T + 1,) needs; with `robot` NOBODY give it back."""
    length = len(path)
    held[0, path[0]] = robot
    for step in range(1, length):
        begin, end = path[step - 1], path[step]
        held[step, end] = robot
        if len(ids) and begin != end:
            for column in range(links.shape[1]):
                if links[begin, column] == end:
                    move = begin * links.shape[1] + column
                    for at in range(begins[move], begins[move + 1]):
                        held[step, ids[at]] = robot
                    break


@compiled
def _may_move(
    links: Links, begins: Ints, ids: Ints, held: Links, step: int, begin: int, column: int, end: int, rotate: bool
) -> bool:
    """Return whether a robot may move from `begin` to `end` between `step` and the next one."""
    if held[step + 1, end] != NOBODY:
        return False
    if begin == end:
        return True
    ahead = held[step, end]
    follower = held[step + 1, begin]
    if len(ids):
        # Nobody is followed here: then there are no circles through claims.
        if ahead != NOBODY:
            return False
        move = begin * links.shape[1] + column
        for at in range(begins[move], begins[move + 1]):
            if held[step + 1, ids[at]] != NOBODY or (ids[at] < len(links) and held[step, ids[at]] != NOBODY):
                return False
        return True
    if ahead == NOBODY or follower == NOBODY:
        return True
    if ahead == follower:
        return False
    return rotate or not _closes_circle(links, held, step, begin, end)


@compiled
def _closes_circle(links: Links, held: Links, step: int, begin: int, end: int) -> bool:
    """Return whether the robots ahead, each going where the next one leaves, end with one that goes to `begin`."""
    node = end
    while True:
        robot = held[step, node]
        if robot == NOBODY or held[step + 1, node] == robot:
            return False
        follows = NOBODY
        for column in range(links.shape[1]):
            other = links[node, column]
            if other >= 0 and held[step + 1, other] == robot:
                follows = other
                break
        if follows == begin:
            return True
        if follows < 0 or follows == end:
            return False
        node = follows


@compiled
def find_path(
    reserved: Reserved,
    steps: Steps,
    start: int,
    goal: int,
    to_end: bool,
    most: int,
    rotate: bool,
    path: Ints,
) -> int:
    """Write the cheapest way (T + 1,) from `start` that meets no reservation to `path`; returns its cost, -1 for none.

    With `to_end` it ends at `goal` to stay, and costs the steps until then. Without it, it is as long as there are
    reservations, as early at the goal as it can be, and costs its steps and those missing at its end. Ways that cost
    more than `most` are not looked for.
    """
    links, begins, ids, blocked, held, marks = reserved
    length, nodes = len(held) - 1, len(links)
    marks[0, -1] = mark = marks[0, -1] + 1
    free_after = _free_after(held, goal) if to_end else 0
    # It cannot be there to stay before. With this in the costs the search goes deep instead of wide until then.
    least: int = max(int(steps[start]), int(free_after))
    if steps[start] < 0 or least > most:
        return -1
    # Open states by what they cost at least: a chain for each, the newest first.
    heads = np.full(most - least + 3, NOBODY, np.int32)
    heads[0] = start
    marks[0, start], marks[2, start] = mark, NOBODY
    costs = 0
    while costs <= most - least:
        state = heads[costs]
        if state == NOBODY:
            costs += 1
            continue
        heads[costs] = marks[2, state]
        step, node = state // nodes, state % nodes
        if (to_end and node == goal and step >= free_after) or (not to_end and step == length):
            _write(marks, nodes, step, node, path)
            return costs + least
        if step == length:
            continue
        for column in range(links.shape[1] + 1):
            end = node if column == links.shape[1] else links[node, column]
            if end < 0 or steps[end] < 0 or (blocked[end] and end != node):
                continue
            state = (step + 1) * nodes + end
            if marks[0, state] == mark:
                continue
            # All ways to a state cost the same, so the first one found is kept.
            more = max(step + 1 + steps[end] - least, 0)
            if more > most - least or not _may_move(links, begins, ids, held, step, node, column, end, rotate):
                continue
            marks[0, state], marks[1, state], marks[2, state] = mark, node, heads[more]
            heads[more] = state
    return -1


@compiled
def _free_after(held: Links, goal: int) -> int:
    """Return the first step from which on nobody else holds `goal`."""
    step = len(held) - 1
    while step >= 0 and held[step, goal] == NOBODY:
        step -= 1
    return step + 1


@compiled
def _write(marks: Links, nodes: int, step: int, node: int, path: Ints) -> None:
    """Write the way to the state (step, node); from then on the robot waits."""
    path[step:] = node
    while step > 0:
        node = marks[1, step * nodes + node]
        step -= 1
        path[step] = node
