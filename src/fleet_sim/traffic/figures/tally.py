"""Tally: what all robots did in a step, added up in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kernels import compiled


class HeatSquares(NamedTuple):
    """A heat map as kernels see it: its sums (H * W,), and by robot (N,) the square `last` seen on, -1 beside the map.

    `frame` (4,) is its lower left corner x, y in m, and sine and cosine of how it is turned.
    """

    passages: Floats
    waited: Floats
    last: Ints
    frame: Floats
    cell: float
    width: int
    height: int


class Logs(NamedTuple):
    """Sums of robots (N,): m `driven` since they were at `points` (N, 2), if they were `present`; s `waited` at a
    stretch, and `in_state` (S, N)."""

    driven: Floats
    points: Floats
    present: Bools
    waited: Floats
    in_state: Floats


@compiled
def tally(
    dt: float, robots: Ints, points: Floats, codes: Ints, waits: Bools, squares: HeatSquares, logs: Logs, counts: Ints
) -> float:
    """Add up a step of `robots` (K,) at `points` (K, 2) in states `codes` (K,), some of which are `waits` (S,).

    Writes how many were in each state to `counts` (S,); returns the longest time that one of them has waited, in s.
    """
    longest, scale, sine, cosine = 0.0, 1.0 / squares.cell, squares.frame[2], squares.frame[3]
    counts[:] = 0
    there = logs.present.copy()
    logs.present[:] = False
    for place in range(len(robots)):
        robot, code = robots[place], codes[place]
        x, y = points[place, 0], points[place, 1]
        waiting = waits[code]
        east, north = x - squares.frame[0], y - squares.frame[1]
        # Shifted by one, so that cutting off the fraction is rounding down just below the map, too.
        column = int((cosine * east + sine * north) * scale + 1.0) - 1
        up = int((cosine * north - sine * east) * scale + 1.0) - 1
        square = -1
        if 0 <= column < squares.width and 0 <= up < squares.height:
            square = (squares.height - 1 - up) * squares.width + column
        if square != squares.last[robot]:
            squares.last[robot] = square
            if square >= 0:
                squares.passages[square] += 1.0
        if waiting and square >= 0:
            squares.waited[square] += dt
        waited = logs.waited[robot] + dt if waiting else 0.0
        logs.waited[robot] = waited
        longest = max(longest, waited)
        # A robot that was not there before would seem to have driven from its last place, or from the origin.
        if there[robot]:
            across, along = x - logs.points[robot, 0], y - logs.points[robot, 1]
            logs.driven[robot] += np.sqrt(across * across + along * along)
        logs.points[robot, 0], logs.points[robot, 1] = x, y
        logs.present[robot] = True
        logs.in_state[code, robot] += dt
        counts[code] += 1
    return longest
