"""Distance tables: steps from every node of a network to some goals, by breadth-first search."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.kernels import compiled

Links: TypeAlias = npt.NDArray[np.int32]
"""Nodes by number, as kernels read them: half the memory of Ints."""
Steps: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Numbers of steps (goals, N), -1 where the goal cannot be reached: int16, or int32 where ways are longer."""

MOST_MEMORY = 1_500_000_000
"""Of the tables of one network, in bytes: those of 19,000 goals on 38,600 nodes. Only what is used is taken."""
LONGEST_SHORT = 32_767


class DistanceTables:
    """Tables of the goals asked for last, in rows of one array that kernels read.

    `sources` (N, K) has the nodes from which each node is entered, -1 padded. Nodes that are blocked are walked out of,
    never into: they have a distance themselves, but no way leads through them.
    """

    def __init__(self, sources: Links, most_memory: int = MOST_MEMORY) -> None:
        self._sources = sources
        self._most_memory = most_memory
        self._blocked: Bools = np.zeros(len(sources), bool)
        self._rows: OrderedDict[int, int] = OrderedDict()
        self._queue = np.empty(len(sources), np.int32)
        self._full = np.empty(len(sources), np.int32)
        self.steps: Steps = self._empty(np.int16)

    def _empty(self, kind: type[np.signedinteger[Any]]) -> Steps:
        count = len(self._sources)
        # Never more rows than there may be goals; memory is taken when a row is written.
        most = min(max(self._most_memory // (max(count, 1) * np.dtype(kind).itemsize), 1), max(count, 1))
        return np.empty((most, count), kind)

    def block(self, blocked: Bools) -> None:
        """Let these nodes (N,) be blocked from now on; other ones than before make all tables anew."""
        if not np.array_equal(blocked, self._blocked):
            self._blocked = blocked.copy()
            self._rows.clear()

    def rows_of(self, goals: Ints) -> Ints:
        """Return for each of `goals` (R,) the row of `steps` that has the distances to it, made where it is missing.

        Rows stay valid until the next call. Raises InvalidValueError for more goals than memory may be taken for.
        """
        wanted = np.unique(goals).tolist()
        if len(wanted) > len(self.steps):
            raise InvalidValueError(
                f"distances to {len(wanted)} goals on {len(self._sources)} nodes take more than"
                f" {self._most_memory / 1e9:g} GB; use fewer robots, or larger cells"
            )
        for goal in wanted:
            if goal in self._rows:
                self._rows.move_to_end(goal)
        for goal in wanted:
            if goal not in self._rows and not self._add(goal):
                # The first way that is too long for small numbers.
                self.steps = self._empty(np.int32)
                self._rows.clear()
                return self.rows_of(goals)
        known = self._rows
        return np.array([known[goal] for goal in goals.tolist()], np.int64)

    def to(self, goal: int) -> Ints:
        """Return the steps (N,) from each node to `goal`, -1 from where it cannot be reached."""
        # Before the steps are looked up: it may replace them.
        row = self.rows_of(np.array([goal]))[0]
        return self.steps[row].astype(np.int64)

    def _add(self, goal: int) -> bool:
        farthest = spread(self._sources, self._blocked, goal, self._full, self._queue)
        if farthest > LONGEST_SHORT and self.steps.dtype == np.int16:
            return False
        row = len(self._rows)
        if row == len(self.steps):
            _, row = self._rows.popitem(last=False)
        self.steps[row] = self._full
        self._rows[goal] = row
        return True


@compiled
def spread(sources: Links, blocked: Bools, goal: int, steps: Links, queue: Links) -> int:
    """Write the steps (N,) of each node to `goal`, -1 without a way; `queue` (N,) is scratch. Returns the largest."""
    steps[:] = -1
    steps[goal] = 0
    queue[0] = goal
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        if blocked[node]:
            continue
        for column in range(sources.shape[1]):
            source = sources[node, column]
            if source >= 0 and steps[source] < 0:
                steps[source] = steps[node] + 1
                queue[end] = source
                end += 1
    return int(steps[queue[end - 1]])
