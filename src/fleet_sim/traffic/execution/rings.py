"""Kernels that find robots which move round in a circle at once, each to the place that the next one leaves."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Small

UNSEEN, SEEN, DONE = range(3)
NOBODY = -1
SLACK = 1e-9


@compiled
def follows_itself(paths: Ints, step: int, lanes: Ints, tracks: Tracks, standing: Ints, search: Ints) -> int:
    """Return a robot that cannot move before itself, as it follows others in a circle; -1: there is none.

    `search` (3, R) is scratch. Robots follow those that stand on what they need and move away in the same step.
    """
    state, stack, slots = search[0], search[1], search[2]
    state[:] = UNSEEN
    for first in range(len(paths)):
        if state[first] != UNSEEN:
            continue
        depth = 0
        stack[0], slots[0], state[first] = first, 0, SEEN
        while depth >= 0:
            robot = stack[depth]
            lane, slot = lanes[robot], slots[depth]
            if lane < 0 or slot > tracks.begins[lane + 1] - tracks.begins[lane]:
                state[robot] = DONE
                depth -= 1
                continue
            slots[depth] += 1
            needed = paths[robot, step] if slot == 0 else tracks.claims[tracks.begins[lane] + slot - 1]
            other = standing[needed]
            if other < 0 or other == robot or state[other] == DONE:
                continue
            if state[other] == SEEN:
                return robot
            depth += 1
            stack[depth], slots[depth], state[other] = other, 0, SEEN
    return -1


@compiled
def find_rings(
    paths: Ints, step: int, lanes: Ints, tracks: Tracks, standing: Ints, seen: Ints, rounds: Small, known: int
) -> tuple[int, int]:
    """Number the rotations of a step in `rounds` (R, T + 1), from `known` on, where lanes claim nothing.

    Returns (robot, how many are known now); the robot is one that has no room to move round, or NOBODY. `seen` (R,) is
    scratch. Each robot follows the one that stands where it moves to, if that moves too.
    """
    robots = len(paths)
    seen[:] = NOBODY
    for first in range(robots):
        robot = first
        while robot != NOBODY and seen[robot] == NOBODY:
            seen[robot] = first
            robot = standing[paths[robot, step]] if lanes[robot] >= 0 else NOBODY
        # Where a walk comes back to itself is a circle.
        if robot == NOBODY or seen[robot] != first:
            continue
        known += 1
        while rounds[robot, step] != known:
            rounds[robot, step] = known
            after = standing[paths[robot, step]]
            begin, end, left = paths[robot, step - 1], paths[robot, step], paths[after, step]
            if not have_room(
                tracks.positions[begin, 0] - tracks.positions[end, 0],
                tracks.positions[begin, 1] - tracks.positions[end, 1],
                tracks.positions[left, 0] - tracks.positions[end, 0],
                tracks.positions[left, 1] - tracks.positions[end, 1],
                tracks.room,
                tracks.square,
            ):
                return robot, known
            robot = after
    return NOBODY, known


@compiled
def have_room(ax: float, ay: float, bx: float, by: float, room: float, square: bool) -> bool:
    """Return whether two robots stay `room` m apart: one comes from a to the origin while the other goes from it to b.

    Both have driven the same share of their lanes at any time. At a right angle on cells of 1 m they come as near as
    0.707 m, `square` ones along their sides as near as 0.5 m. All others of a circle are on lanes without a common end,
    where robots have room anyway.
    """
    # The second, as seen by the first, drives the straight line from -a to b.
    dx, dy = ax + bx, ay + by
    if square:
        # At a right angle both sides shrink and grow alike; straight on they keep the length of a lane.
        x, y = 0.5 * dx - ax, 0.5 * dy - ay
        return max(abs(x), abs(y)) >= room * (1.0 - SLACK)
    way = dx * dx + dy * dy
    share = min(max((ax * dx + ay * dy) / way, 0.0), 1.0) if way > 0.0 else 0.0
    x, y = share * dx - ax, share * dy - ay
    return np.sqrt(x * x + y * y) >= room * (1.0 - SLACK)
