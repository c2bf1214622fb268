"""Paths of one robot among reservations of others, in space and time; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.base.kernels import compiled
from fleet_sim.base.registry import saved
from fleet_sim.warehouse.traffic.network import Links, Network, Steps, Words

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
    reserved: Reserved, steps: Steps, start: int, goal: int, to_end: bool, most: int, rotate: bool, path: Ints
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


# Timetable: who is on which cell of a grid at each step, as bits of words that one operation moves on together.


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


def no_words() -> GridWords:
    """Return what stands for a network that is no grid."""
    links, ints, bits = np.empty((0, 0), np.int32), np.empty(0, np.int64), np.empty(0, np.uint64)
    return GridWords(links, links, links, links, ints, bits, np.empty((len(WAYS), 0), np.uint64), 1)


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
