"""Groups of robots that are in each other's way, which rounds of refinement plan anew; compiled."""

from __future__ import annotations

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.planners.chances import below
from fleet_sim.traffic.planners.reserved import NOBODY
from fleet_sim.traffic.tables import Links, Steps, Words


@compiled
def choose_group(
    links: Links, held: Links, steps: Steps, rows: Ints, paths: Ints, costs: Ints, words: Words, group: Ints
) -> None:
    """Write a group of robots that are in each other's way, in an order by chance: around one that loses much time."""
    robots, size = len(paths), len(group)
    first, worst = 0, -1
    for _ in range(4):
        robot = below(words, robots)
        late = costs[robot] - steps[rows[robot], paths[robot, 0]]
        if late > worst:
            first, worst = robot, late
    group[0] = first
    count = 1
    kind = below(words, 3)
    if kind == 0:
        # Who passes its goal after it could be there keeps it from staying.
        path, step = paths[first], len(held) - 1
        soonest = steps[rows[first], path[0]]
        while step > soonest and count < size:
            other = held[step, path[-1]]
            if other != NOBODY:
                count = _add(group, count, other)
            step -= 1
    for _ in range(8):
        if count == size:
            break
        count = _follow(links, held, steps[rows[first]], paths[first], costs[first], kind < 2, words, group, count)
        # Around those who are in the way, too.
        first = group[below(words, count)] if kind == 2 else first
    while count < size:
        count = _add(group, count, below(words, robots))
    for number in range(size - 1, 0, -1):
        other = below(words, number + 1)
        group[number], group[other] = group[other], group[number]


@compiled
def _follow(
    links: Links, held: Links, steps: Steps, path: Ints, cost: int, along: bool, words: Words, group: Ints, count: int
) -> int:
    """Add to `group` who is met on a random walk from a place on `path`: with `along` only on ways that save time."""
    step = below(words, max(cost, 1))
    node = path[step]
    while step < len(path) - 1 and step < cost and count < len(group):
        tries, end = 0, -1
        offset = below(words, links.shape[1] + 1)
        while tries <= links.shape[1]:
            column = (offset + tries) % (links.shape[1] + 1)
            end = node if column == links.shape[1] else links[node, column]
            if end >= 0 and steps[end] >= 0 and (not along or step + 1 + steps[end] < cost):
                break
            end = -1
            tries += 1
        if end < 0:
            return count
        if held[step + 1, end] != NOBODY:
            count = _add(group, count, held[step + 1, end])
        if count < len(group) and held[step, end] != NOBODY and held[step + 1, node] == held[step, end]:
            count = _add(group, count, held[step, end])
        node = end
        step += 1
    return count


@compiled
def _add(group: Ints, count: int, robot: int) -> int:
    """Add `robot` to the first `count` of `group` unless it is there; returns how many there are now."""
    for number in range(count):
        if group[number] == robot:
            return count
    group[count] = robot
    return count + 1
