"""Rotations: robots that move round in a circle at once, each to the place that the next one leaves."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.tables import Links


def rotations(paths: Ints) -> list[tuple[int, Ints]]:
    """Return (step, robots) for each circle in `paths` (R, T + 1), by step; the robots in the order they follow.

    The first follows the second, and so on; the last follows the first. Swaps are no rotations, but refused as plans.
    On a network with claims there are none, as `check_paths` refuses circles there.
    """
    nodes = int(paths.max(initial=-1)) + 1
    marks = np.empty(len(paths), np.int64)
    found: list[tuple[int, Ints]] = []
    standing = np.full(nodes, -1)
    for step in range(1, paths.shape[1]):
        find_circles(paths, step, standing, marks)
        for number in range(1, int(marks.max(initial=0)) + 1):
            members = np.flatnonzero(marks == number)
            found.append((step, _in_order(paths, step, members)))
    return found


def _in_order(paths: Ints, step: int, members: Ints) -> Ints:
    at = {int(paths[robot, step - 1]): int(robot) for robot in members}
    order = [int(members[0])]
    # Each one moves to where the next one stands, so following them visits all.
    while len(order) < len(members):
        order.append(at[int(paths[order[-1], step])])
    return np.array(order)


@compiled
def find_circles(paths: Ints, step: int, standing: Ints, marks: Ints) -> int:
    """Write to `marks` (R,) the number of the circle that each robot moves round in at `step`, 0 for none.

    `standing` (N,) is -1 before and after. Returns how many circles there are.
    """
    robots = len(paths)
    for robot in range(robots):
        standing[paths[robot, step - 1]] = robot
        marks[robot] = -1
    circles = 0
    for first in range(robots):
        robot = first
        # Marked with the walk's own number until it ends.
        while robot >= 0 and marks[robot] == -1:
            # Negative, so that walks of this pass can be told from circles that are known.
            marks[robot] = -2 - first
            end = paths[robot, step]
            robot = -1 if end == paths[robot, step - 1] else standing[end]
        # The walk came back to itself: what it met there is a circle; who only leads into it is not.
        if robot >= 0 and marks[robot] == -2 - first:
            circles += 1
            while marks[robot] != circles:
                marks[robot] = circles
                robot = standing[paths[robot, step]]
        # Once more over the walk: what is not in the circle gets 0.
        robot = first
        while robot >= 0 and marks[robot] == -2 - first:
            marks[robot] = 0
            end = paths[robot, step]
            robot = -1 if end == paths[robot, step - 1] else standing[end]
    for robot in range(robots):
        standing[paths[robot, step - 1]] = -1
    return circles


@compiled
def _do_two_swap(now: Ints, then: Ints, standing: Links | Ints) -> bool:
    """Return whether two robots take each other's nodes."""
    for robot in range(len(now)):
        other = standing[then[robot]]
        if other >= 0 and other != robot and then[other] == now[robot]:
            return True
    return False


@compiled
def are_in_order(
    links: Links,
    begins: Ints,
    ids: Ints,
    now: Ints,
    then: Ints,
    standing: Links | Ints,
    holding: Links | Ints,
    allow_rotations: bool,
) -> bool:
    """Return whether the robots can move one after the other, each to what those before it have left.

    Robots go as soon as nobody stands on what they need; who is left over stands in a circle.
    """
    robots = len(now)
    if allow_rotations:
        return not _do_two_swap(now, then, standing)
    # How many nodes each robot waits for; who needs a robot's node is who holds it.
    needs = np.zeros(robots, np.int64)
    ready = np.empty(robots, np.int64)
    count = 0
    for robot in range(robots):
        if then[robot] != now[robot]:
            needs[robot] = _count_needs(links, begins, ids, now, then, standing, robot)
        if needs[robot] == 0:
            ready[count] = robot
            count += 1
    done = 0
    while done < count:
        robot = ready[done]
        done += 1
        follower = holding[now[robot]]
        if then[robot] != now[robot] and follower >= 0 and follower != robot:
            needs[follower] -= 1
            if needs[follower] == 0:
                ready[count] = follower
                count += 1
    return count == robots


@compiled
def _count_needs(
    links: Links, begins: Ints, ids: Ints, now: Ints, then: Ints, standing: Links | Ints, robot: int
) -> int:
    """Return on how many nodes that `robot` needs another one stands."""
    found = 0
    if standing[then[robot]] >= 0:
        found += 1
    if len(ids):
        for column in range(links.shape[1]):
            if links[now[robot], column] == then[robot]:
                move = now[robot] * links.shape[1] + column
                for at in range(begins[move], begins[move + 1]):
                    if ids[at] < len(links) and standing[ids[at]] >= 0:
                        found += 1
                break
    return found
