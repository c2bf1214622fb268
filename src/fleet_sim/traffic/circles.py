"""Rotations: robots that move round in a circle at once, each to the place that the next one leaves."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled


def rotations(paths: Ints) -> list[tuple[int, Ints]]:
    """Return (step, robots) for each circle in `paths` (R, T + 1), by step; the robots in the order they follow.

    The first follows the second, and so on; the last follows the first. Swaps are no rotations, but refused as plans.
    On a network with claims circles through claims are not seen; planners make none there.
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
            marks[robot] = -2 - first
            end = paths[robot, step]
            robot = -1 if end == paths[robot, step - 1] else standing[end]
        if robot >= 0 and marks[robot] == -2 - first:
            circles += 1
            while marks[robot] != circles:
                marks[robot] = circles
                robot = standing[paths[robot, step]]
        robot = first
        while robot >= 0 and marks[robot] == -2 - first:
            marks[robot] = 0
            end = paths[robot, step]
            robot = -1 if end == paths[robot, step - 1] else standing[end]
    for robot in range(robots):
        standing[paths[robot, step - 1]] = -1
    return circles
