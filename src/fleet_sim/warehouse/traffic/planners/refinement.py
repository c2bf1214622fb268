"""Large neighbourhood search on grids: small groups of robots are planned anew among the paths of all others.

Li, Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search" (IJCAI 2021).
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled
from fleet_sim.warehouse.traffic.network import Links, Network, Steps, Words
from fleet_sim.warehouse.traffic.problem import Problem, steps_to_rest

# Timetable: who is on which cell of a grid at each step, as bits of words that one operation moves on together.


NOBODY = -1
WORD = 64
WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1))
"""Moves as (columns, rows) of cells; the one back is the number with its lowest bit turned."""


class GridWords(NamedTuple):
    """A grid as words: `word` (N,) and `bit` (N,) of the cell that each node is.

    `way` (N, K) is the number in WAYS of each of `links` (N, K), `inward` (N, L) that of the moves from `sources`
    (N, L), -1 where there is none. `may` (4, W) has a bit for each cell that may be left each way. A row of cells is
    `pitch` words; a row of zeros is before and after all.
    """

    links: Links
    way: Links
    sources: Links
    inward: Links
    word: Ints
    bit: Words
    may: Words
    pitch: int


class Timetable(NamedTuple):
    """`held` (T + 1, N) has the robot at each node, NOBODY for none; `free` (T + 1, W) a bit where that is so.

    `open` (T, 4, W) has a bit for each cell that a robot could leave each way without a swap or, unless they are
    allowed, a rotation. `reached` (T + 1, W) is scratch of searches. What is held at the last step is held for ever.
    """

    held: Links
    free: Words
    open: Words
    reached: Words


def fits_words(network: Network) -> bool:
    """Return whether `network` is a grid on which all moves lead to one of the four cells beside."""
    if network.grid is None or network.claims:
        return False
    return bool((_ways(network, network.links, 1)[network.links >= 0] >= 0).all())


def _ways(network: Network, others: Links, sign: int) -> Links:
    """Return the numbers (N, K) in WAYS of moves to `others` (N, K), or with `sign` -1 from there; -1 for none."""
    assert network.grid is not None
    row, column = np.divmod(network.cells, network.grid.width)
    rights, downs = (sign * (place[others] - place[:, None]) for place in (column, row))
    ways = np.full(others.shape, -1, np.int32)
    for number, (right, down) in enumerate(WAYS):
        ways[(others >= 0) & (rights == right) & (downs == down)] = number
    return ways


def words_of(network: Network, blocked: Bools) -> GridWords:
    """Return `network`, which `fits_words`, as words; nobody moves onto `blocked` (N,) nodes."""
    assert network.grid is not None
    row, column = np.divmod(network.cells, network.grid.width)
    pitch = -(-network.grid.width // WORD)
    # A row of zeros comes first, so that searches may look up from the first row.
    word = (row + 1) * pitch + column // WORD
    bit = np.left_shift(np.uint64(1), (column % WORD).astype(np.uint64))
    way, sources = _ways(network, network.links, 1), network.sources()
    may = np.zeros((len(WAYS), (network.grid.height + 2) * pitch), np.uint64)
    begins, columns = np.nonzero((network.links >= 0) & ~blocked[network.links])
    # By `at`, as many cells share a word: of plain indexing only the last bit would stay.
    np.bitwise_or.at(may, (way[begins, columns], word[begins]), bit[begins])
    return GridWords(network.links, way, sources, _ways(network, sources, -1), word, bit, may, pitch)


def empty_timetable(words: GridWords, length: int) -> Timetable:
    """Return a timetable of `length` steps with nobody in it."""
    size = words.may.shape[1]
    free = np.zeros((length + 1, size), np.uint64)
    np.bitwise_or.at(free[0], words.word, words.bit)
    free[1:] = free[0]
    held: npt.NDArray[np.int32] = np.full((length + 1, len(words.word)), NOBODY, np.int32)
    opened = np.repeat(words.may[None], length, axis=0)
    return Timetable(held, free, opened, np.zeros((length + 1, size), np.uint64))


@compiled
def put(words: GridWords, table: Timetable, paths: Ints, robot: int, rotate: bool) -> None:
    """Enter the path of `robot`, one of `paths` (R, T + 1), among those that are in the table."""
    path = paths[robot]
    for step in range(len(path)):
        node = path[step]
        table.held[step, node] = robot
        table.free[step, words.word[node]] &= ~words.bit[node]
    for step in range(len(path) - 1):
        begin, end = path[step], path[step + 1]
        if begin == end:
            continue
        if rotate:
            # Only the swap, as robots may go round in a circle.
            _close(words, table, step, end, begin)
            continue
        # Robots that follow each other are a chain: who would go from its head to its tail closes a circle.
        head, tail = _head(table, paths, step, end), _tail(table, paths, step, begin)
        if head != end:
            _reopen(words, table, step, head, end)
        if tail != begin:
            _reopen(words, table, step, begin, tail)
        _close(words, table, step, head, tail)


@compiled
def take(words: GridWords, table: Timetable, paths: Ints, robot: int, rotate: bool) -> None:
    """Take the path of `robot` out of the table again."""
    path = paths[robot]
    for step in range(len(path) - 1):
        begin, end = path[step], path[step + 1]
        if begin == end:
            continue
        if rotate:
            _reopen(words, table, step, end, begin)
            continue
        head, tail = _head(table, paths, step, end), _tail(table, paths, step, begin)
        # Without this robot the chain is two: what closed the circle of all is opened, and each part closes its own.
        _reopen(words, table, step, head, tail)
        if head != end:
            _close(words, table, step, head, end)
        if tail != begin:
            _close(words, table, step, begin, tail)
    for step in range(len(path)):
        node = path[step]
        table.held[step, node] = NOBODY
        table.free[step, words.word[node]] |= words.bit[node]


@compiled
def _head(table: Timetable, paths: Ints, step: int, node: int) -> int:
    """Return the node, free at `step`, that the robots from `node` on move up to."""
    while True:
        robot = table.held[step, node]
        if robot == NOBODY or paths[robot, step + 1] == node:
            return node
        node = paths[robot, step + 1]


@compiled
def _tail(table: Timetable, paths: Ints, step: int, node: int) -> int:
    """Return the node, free after `step`, that the last one leaves of those who follow to `node`."""
    while True:
        robot = table.held[step + 1, node]
        if robot == NOBODY or paths[robot, step] == node:
            return node
        node = paths[robot, step]


@compiled
def _close(words: GridWords, table: Timetable, step: int, begin: int, end: int) -> None:
    """Let nobody move from `begin` to `end`, which may be no neighbours."""
    for column in range(words.links.shape[1]):
        if words.links[begin, column] == end:
            table.open[step, words.way[begin, column], words.word[begin]] &= ~words.bit[begin]
            return


@compiled
def _reopen(words: GridWords, table: Timetable, step: int, begin: int, end: int) -> None:
    """Let robots move from `begin` to `end` again, if ever they could."""
    for column in range(words.links.shape[1]):
        if words.links[begin, column] == end:
            way, word = words.way[begin, column], words.word[begin]
            table.open[step, way, word] |= words.bit[begin] & words.may[way, word]
            return


# Random numbers in kernels.


@compiled
def below(words: Words, count: int) -> int:
    """Return a random number from 0 to `count` - 1; `words` (1,) is the state."""
    word = words[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    words[0] = word
    # Signed, so that it stays a whole number when it is added to others.
    return np.int64((word >> np.uint64(11)) % np.uint64(count))  # type: ignore[return-value]


# Groups of robots that are in each other's way, which rounds of refinement plan anew; compiled.


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


# Cheapest paths of one robot in a timetable: all cells that it can be on are moved on together, step by step. A word
# of bits holds 64 cells, so that a step on a map of 32 x 32 cells takes 20 ns, where a search that looks at places
# one by one needs a thousand times that for them all.


@compiled
def find_way(
    words: GridWords, table: Timetable, start: int, goal: int, least: int, most: int, chances: Words, path: Ints
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


# Rounds of large neighbourhood search: a group of robots is planned anew among the paths of all others; compiled. Li,
# Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search" (IJCAI 2021).
# Sizes of groups are chosen by what they have saved so far for the searches that they took. A group whose new paths
# would cost more gets its old ones back, so the cost never grows.


FADING = 0.999
"""What gains of the past count as after each round."""
CURIOUS = 4
"""One round in so many has a group of any size, the others the size that has gained most."""


class RobotPaths(NamedTuple):
    """`paths` (R, T + 1) of robots to their `goals`, and their `costs`; `rows` are those of `steps` to the goals."""

    steps: Steps
    rows: Ints
    goals: Ints
    paths: Ints
    costs: Ints


@compiled
def improve(
    words: GridWords, table: Timetable, robots: RobotPaths, gains: Floats, rounds: int, rotate: bool, chances: Words
) -> int:
    """Plan `rounds` groups anew, in the paths and costs of `robots`; returns the steps saved.

    `gains` (2, S + 1) has by the size of groups, up to S, the steps saved and the searches made for that.
    """
    steps, rows, _, paths, costs = robots
    most, length = min(gains.shape[1] - 1, len(paths)), paths.shape[1]
    old_paths, old_costs = np.empty((most, length), np.int64), np.empty(most, np.int64)
    saved = 0
    for _ in range(rounds):
        group = np.empty(_size(gains, most, chances), np.int64)
        choose_group(words.links, table.held, steps, rows, paths, costs, chances, group)
        before = 0
        # The paths of the group are given back first, so that it can be planned through them.
        for number in range(len(group)):
            robot = group[number]
            old_paths[number], old_costs[number] = paths[robot], costs[robot]
            before += costs[robot]
            take(words, table, paths, robot, rotate)
        planned, left = _plan(words, table, robots, group, before, rotate, chances)
        # Old gains count less, as what pays off changes with the plan.
        gains *= FADING
        gains[1, len(group)] += planned + 1
        if planned == len(group):
            gains[0, len(group)] += left
            saved += left
            continue
        # It costs more, or somebody has no path: give back what was planned, and hold the old paths again.
        for number in range(planned):
            take(words, table, paths, group[number], rotate)
        for number in range(len(group)):
            robot = group[number]
            paths[robot], costs[robot] = old_paths[number], old_costs[number]
            put(words, table, paths, robot, rotate)
    return saved


@compiled
def _size(gains: Floats, most: int, chances: Words) -> int:
    """Return how many robots to plan anew."""
    if below(chances, CURIOUS) == 0:
        return 1 + below(chances, most)
    best = 1
    for size in range(2, most + 1):
        # Compares gain per search, without dividing by 0.
        if gains[0, size] * gains[1, best] > gains[0, best] * gains[1, size]:
            best = size
    return best


@compiled
def _plan(
    words: GridWords, table: Timetable, robots: RobotPaths, group: Ints, left: int, rotate: bool, chances: Words
) -> tuple[int, int]:
    """Plan the robots of `group` in turn, at the cost `left` together at most; returns how many have a path, and what
    is left of the cost."""
    steps, rows, goals, paths, costs = robots
    least, planned = 0, 0
    # The least that all of them can cost together.
    for robot in group:
        least += steps[rows[robot], paths[robot, 0]]
    for robot in group:
        own = steps[rows[robot]]
        least -= own[paths[robot, 0]]
        # What those after it need at least is kept for them.
        most = min(left - least, paths.shape[1] - 1)
        start = paths[robot, 0]
        cost = find_way(words, table, start, goals[robot], int(own[start]), most, chances, paths[robot])
        if cost < 0:
            break
        costs[robot] = cost
        left -= cost
        put(words, table, paths, robot, rotate)
        planned += 1
    return planned, left


AT_ONCE = 64
"""Rounds between two looks at the clock."""
MOST_STATES = 200_000_000
"""Nodes by steps that are searched: more take more than 3 GB."""
SPARE = 8
"""Steps that a path may be longer than the longest one, when tables are made anew as paths have become shorter."""


class Refinement:
    """Makes `paths` (R, T + 1) to `goals` (R,) cheaper, never longer; `saved` counts the steps."""

    def __init__(self, problem: Problem, goals: Ints, paths: Ints, allow_rotations: bool, group: int) -> None:
        """Groups have up to `group` robots: as many as have gained most so far."""
        network = problem.network
        if (paths.shape[1] - 1) * len(network) > MOST_STATES:
            raise InvalidValueError(f"refinements: {paths.shape[1]} steps on {len(network)} nodes are too many; use 0")
        self.costs = steps_to_rest(paths)
        self.saved = 0
        self._goals, self._rotate, self._words = goals, allow_rotations, words_of(network, problem.blocked)
        network.tables.block(problem.blocked)
        self._rows = network.tables.rows_of(goals)
        self._steps = network.tables.steps
        self._chances = np.array([(problem.seed * 2 + 0x9E3779B97F4A7C15) % 2**64], np.uint64)
        self._gains = np.ones((2, group + 1))
        self._lay_out(np.array(paths, np.int64, order="C"))

    def run(self, rounds: int | None, late: float) -> int:
        """Make `rounds` rounds, or as many as there is time for. Returns how many."""
        made = 0
        while (rounds is None or made < rounds) and time.monotonic() < late and self.costs.any():
            some = AT_ONCE if rounds is None else min(AT_ONCE, rounds - made)
            robots = RobotPaths(self._steps, self._rows, self._goals, self._paths, self.costs)
            self.saved += improve(self._words, self._table, robots, self._gains, some, self._rotate, self._chances)
            made += some
            if self.costs.max() + 2 * SPARE < self._paths.shape[1]:
                self._lay_out(self._paths[:, : self.costs.max() + SPARE].copy())
        return made

    @property
    def paths(self) -> Ints:
        """The paths (R, T + 1), until all robots are at their goals to stay."""
        return self._paths[:, : max(int(self.costs.max(initial=0)), 1) + 1].copy()

    def _lay_out(self, paths: Ints) -> None:
        """Enter `paths` (R, T + 1) in tables of their length."""
        self._paths = paths
        self._table = empty_timetable(self._words, paths.shape[1] - 1)
        for robot in range(len(paths)):
            put(self._words, self._table, paths, robot, self._rotate)
