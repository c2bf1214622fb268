"""Timetable: who is on which cell of a grid at each step, as bits of words that one operation moves on together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Ints
from fleet_sim.kernels import compiled
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.tables import Links, Words

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
