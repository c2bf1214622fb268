"""How people make room for robots that wait for them: they look for a spot off the ways of these, and go there.

They look at points around them, squeeze past robots that stand, and keep to a spot that they have chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.people import walking
from fleet_sim.warehouse.people.safety import IN_THE_WAY
from fleet_sim.warehouse.people.walking import FAR, Crowd, Ground, Machines, Shelves

LOOK = 0.25
"""In s: so often they look around."""
PACE = 0.4
"""In m/s: how fast they go at most."""
CLEAR = 0.04
"""In m: kept to the ways of robots."""
STEP, STEPS = 0.12, 41
"""They look at so many points in a row, so far apart in m."""
MIDDLE = STEPS // 2
SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0))


class Waiting(NamedTuple):
    """Robots around people: `wants`, the numbers of those that want to drive; `needs` (M, 2), the places of the nodes
    that they wait for, nan for none; within `keep` m of these they may not be entered."""

    machines: Machines
    near: Shelves
    wants: Ints
    needs: Floats
    keep: float


def make_room(
    who: int, look: int, spot: Floats, machine: int, crowd: Crowd, shelves: Shelves, ground: Ground, waiting: Waiting
) -> tuple[Floats, Floats]:
    """Return the spot (2,) to which a person goes, nan for none, and the direction (2,) there, 0 to stand.

    It keeps to the `spot` that it had while it can get there. `who` is its number in the `crowd`, `look` counts how
    often people looked, `machine` is the robot that waits for it.
    """
    place, radius = crowd.places[who], float(crowd.radii[who])
    free = np.zeros((STEPS, STEPS), np.bool_)
    # Elsewhere each time, so that no narrow gap is missed for long.
    shift = np.array([look * 0.618034, look * 0.754878]) % 1.0 - 0.5
    offsets = np.arange(STEPS) - MIDDLE
    points = place + STEP * (shift + np.stack(np.meshgrid(offsets, offsets), axis=-1))
    walking.room_around(who, points, crowd, shelves, ground, waiting.machines, waiting.near, free)
    free[MIDDLE, MIDDLE] = True
    for ends in _choices(points, free, radius, spot, machine, waiting):
        lengths = walking.way_to(free, np.zeros_like(free), ends)[0]
        if lengths[MIDDLE, MIDDLE] < FAR:
            return _followed(lengths, points, place)
    return np.full(2, np.nan), np.zeros(2)


def _choices(
    points: Floats, free: Bools, radius: float, spot: Floats, machine: int, waiting: Waiting
) -> Iterator[Bools]:
    """Yield at which of the `points` (K, K, 2) that are `free` a person would like to be, the best ones first."""
    machines = waiting.machines
    if not np.isnan(spot[0]):
        column, row = (np.round((spot - points[MIDDLE, MIDDLE]) / STEP).astype(np.int64) + MIDDLE).tolist()
        # Where it is already, it looks for another one.
        if 0 <= column < STEPS and 0 <= row < STEPS and (column, row) != (MIDDLE, MIDDLE):
            kept = np.zeros_like(free)
            kept[row, column] = free[row, column]
            yield kept
    place = points[MIDDLE, MIDDLE]
    close = waiting.wants[trig.hypot(*(machines.places[waiting.wants] - place).T) < STEPS * STEP]
    # Off all ways, best where the robots can turn as well; else off that of the one that waits for this person.
    for robots, turning in product((close.tolist(), [machine]), (True, False)):
        ends = free.copy()
        for robot in robots:
            dx, dy = (points - machines.places[robot]).transpose(2, 0, 1)
            hx, hy = (machines.ways if machines.claims[robot] > 0.0 else machines.headings)[robot]
            ahead, aside = dx * hx + dy * hy, np.abs(hx * dy - hy * dx)
            around, wide = machines.radii[robot] + radius, machines.sizes[robot, 1] + radius
            ends &= (aside > wide + CLEAR) | (ahead < 0.0) | (ahead > around + IN_THE_WAY)
            ends &= ~(trig.hypot(*(points - waiting.needs[robot]).transpose(2, 0, 1)) < waiting.keep + radius + CLEAR)
            if turning:
                ends &= trig.hypot(dx, dy) > around + CLEAR
        yield ends
    # Between walls it goes ahead of the robot, as far as it sees.
    ends = free.copy()
    ends[1:-1, 1:-1] = False
    yield ends & ((points - machines.places[machine]) @ machines.headings[machine] > 0.0)


def _followed(lengths: Floats, points: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return the point to which the shortest way from the middle leads along the axes, and the direction to its first
    point from `place`."""
    at, way = (MIDDLE, MIDDLE), []
    while lengths[at] > 0.0:
        around = [(at[0] + up, at[1] + right) for up, right in SIDES]
        at = min((cell for cell in around if min(cell) >= 0 and max(cell) < STEPS), key=lambda cell: lengths[cell])
        way.append(points[at])
    if not way:
        return points[at], np.zeros(2)
    gap = way[0] - place
    return way[-1], gap / trig.hypot_of(*gap)
