"""Plans of robots one after the other, each among the reservations of those before it; compiled."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.planners.reserved import NOBODY, Reserved, find_path, reserve
from fleet_sim.traffic.tables import Steps


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
