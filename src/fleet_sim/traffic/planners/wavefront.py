"""Cheapest paths of one robot in a timetable: all cells that it can be on are moved on together, step by step.

A word of bits holds 64 cells, so that a step on a map of 32 x 32 cells takes 20 ns, where a search that looks at places
one by one needs a thousand times that for them all.
"""

from __future__ import annotations

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.planners.chances import below
from fleet_sim.traffic.planners.timetable import NOBODY, GridWords, Timetable
from fleet_sim.traffic.tables import Words


@compiled
def find_way(
    words: GridWords,
    table: Timetable,
    start: int,
    goal: int,
    least: int,
    most: int,
    chances: Words,
    path: Ints,
) -> int:
    """Write one of the cheapest ways (T + 1,) from `start` to `goal`, to stay there, to `path`; returns its cost.

    The cost is the steps until it is there for good. -1 stands for no way that costs at most `most`, at most T;
    `least` are the steps from `start` to `goal` if nobody were in the way.
    """
    # Before the last other robot has left it, it cannot be at its goal to stay.
    free_after = len(table.held) - 1
    while free_after >= 0 and table.held[free_after, goal] == NOBODY:
        free_after -= 1
    soonest = max(free_after + 1, least)
    if soonest > most:
        return -1
    cost = _spread(words, table, start, goal, soonest, most)
    if cost >= 0:
        path[cost:] = goal
        _trace(words, table, cost, chances, path)
    return cost


@compiled
def _spread(words: GridWords, table: Timetable, start: int, goal: int, soonest: int, most: int) -> int:
    """Write the cells that can be reached at each step; returns the step from `soonest` on at which `goal` is, or -1.

    Rows from which the goal cannot be reached in time are left out.
    """
    pitch, size = words.pitch, words.may.shape[1]
    rows, first, last = size // pitch, words.word[start] // pitch, words.word[goal] // pitch
    table.reached[0, :] = 0
    table.reached[0, words.word[start]] = words.bit[start]
    step = 0
    while step < soonest or table.reached[step, words.word[goal]] & words.bit[goal] == 0:
        if step == most:
            return -1
        step += 1
        low = max(1, first - step, last - (most - step))
        high = min(rows - 1, first + step + 1, last + (most - step) + 1)
        reached = table.reached[step]
        move_on(
            table.reached[step - 1], table.free[step], table.open[step - 1], pitch, low * pitch, high * pitch, reached
        )
        # The next step looks at one row more, and at one more beside it.
        reached[max(low - 2, 0) * pitch : low * pitch] = 0
        reached[high * pitch : min(high + 2, rows) * pitch] = 0
    return step


@compiled
def move_on(here: Words, free: Words, opened: Words, pitch: int, low: int, high: int, there: Words) -> None:
    """Write words `low` to `high` of `there`: the free cells that can be reached from `here`, by a move or none."""
    right, left, down, up = opened[0], opened[1], opened[2], opened[3]
    if pitch == 1:
        for at in range(low, high):
            beside = ((here[at] & right[at]) << 1) | ((here[at] & left[at]) >> 1)
            across = (here[at - 1] & down[at - 1]) | (here[at + 1] & up[at + 1])
            there[at] = free[at] & (here[at] | beside | across)
        return
    for at in range(low, high):
        beside = ((here[at] & right[at]) << 1) | ((here[at - 1] & right[at - 1]) >> 63)
        beside |= ((here[at] & left[at]) >> 1) | ((here[at + 1] & left[at + 1]) << 63)
        across = (here[at - pitch] & down[at - pitch]) | (here[at + pitch] & up[at + pitch])
        there[at] = free[at] & (here[at] | beside | across)


@compiled
def _trace(words: GridWords, table: Timetable, cost: int, chances: Words, path: Ints) -> None:
    """Write the steps before `cost` to `path`, backwards; where there are several ways one by chance."""
    node = path[cost]
    for step in range(cost - 1, -1, -1):
        reached, opened = table.reached[step], table.open[step]
        before, count = node, 0
        if reached[words.word[node]] & words.bit[node]:
            count = 1
        for column in range(words.sources.shape[1]):
            source = words.sources[node, column]
            if source < 0 or reached[words.word[source]] & words.bit[source] == 0:
                continue
            if opened[words.inward[node, column], words.word[source]] & words.bit[source] == 0:
                continue
            count += 1
            if below(chances, count) == 0:
                before = source
        node = before
        path[step] = node
