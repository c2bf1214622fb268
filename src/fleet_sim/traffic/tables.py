"""Distance tables: steps from every node of a network to some goals, by breadth-first search."""

from __future__ import annotations

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
Words: TypeAlias = npt.NDArray[np.uint64]
"""States of random numbers in kernels."""

MOST_MEMORY = 1_500_000_000
"""Of the tables of one network, in bytes: those of 19,000 goals on 38,600 nodes. Only what is used is taken."""
LONGEST_SHORT = 32_767


class DistanceTables:
    """Tables of the goals asked for last, in rows of one array that kernels read.

    `sources` (N, K) has the nodes from which each node is entered, -1 padded. Nodes that are blocked are walked out of,
    never into: they have a distance themselves, but no way leads through them. Barred ones are so for wide robots,
    except as their goals; distances to goal g for wide robots are known by the key N + g, for others by g.
    """

    def __init__(self, sources: Links, most_memory: int = MOST_MEMORY, costs: Links | None = None) -> None:
        """`costs` (N, K) are the steps, at least 1, that moves from `sources` count as; 1 without."""
        self._sources = sources
        self._costs = costs
        self._most_memory = most_memory
        self._blocked: Bools = np.zeros(len(sources), bool)
        self._barred: Bools = np.zeros(len(sources), bool)
        # By key: its row, and when it was asked for last; by row: its key.
        self._row_of = np.full(2 * len(sources), -1, np.int64)
        self._asked = np.zeros(2 * len(sources), np.int64)
        self._goal_of = np.empty(0, np.int64)
        self._calls = 0
        self._queue = np.empty(len(sources), np.int32)
        self._full = np.empty(len(sources), np.int32)
        self.steps: Steps = self._empty(np.int16)

    def _empty(self, kind: type[np.signedinteger[Any]]) -> Steps:
        count = len(self._sources)
        # Never more rows than there may be goals; memory is taken when a row is written.
        most = min(max(self._most_memory // (max(count, 1) * np.dtype(kind).itemsize), 1), max(2 * count, 1))
        return np.empty((most, count), kind)

    def block(self, blocked: Bools, barred: Bools | None = None) -> None:
        """Let these nodes (N,) be blocked from now on, and barred; other ones than before make all tables anew."""
        given = np.zeros(len(blocked), bool) if barred is None else barred
        # The same nodes, which is usual, keep the tables.
        if not (np.array_equal(blocked, self._blocked) and np.array_equal(given, self._barred)):
            self._blocked, self._barred = blocked.copy(), given.copy()
            self._forget()

    def rows_of(self, goals: Ints, wide: Bools | None = None) -> Ints:
        """Return for each of `goals` (R,) the row of `steps` that has the distances to it, made where it is missing.

        `wide` (R,) are robots that keep off barred nodes. Rows stay valid until the next call. Raises InvalidValueError
        for more goals than memory may be taken for.
        """
        keys = goals if wide is None else goals + len(self._sources) * wide
        self._calls += 1
        self._asked[keys] = self._calls
        missing = np.unique(keys[self._row_of[keys] < 0])
        if len(missing) and not self._add_all(missing):
            # The first way that is too long for small numbers.
            self.steps = self._empty(np.int32)
            self._forget()
            return self.rows_of(goals, wide)
        return self._row_of[keys]

    def _forget(self) -> None:
        self._row_of.fill(-1)
        self._goal_of = np.empty(0, np.int64)

    def to(self, goal: int) -> Ints:
        """Return the steps (N,) from each node to `goal`, -1 from where it cannot be reached."""
        # Before the steps are looked up: it may replace them.
        row = self.rows_of(np.array([goal]))[0]
        return self.steps[row].astype(np.int64)

    def _add_all(self, goals: Ints) -> bool:
        """Make the tables of `goals`, given by keys, in place of those not asked for longest.

        Returns whether the steps fit the numbers.
        """
        used, most = len(self._goal_of), len(self.steps)
        fresh = np.arange(used, min(used + len(goals), most))
        # Those asked for in this call are the last ones.
        oldest = np.argsort(self._asked[self._goal_of], kind="stable")[: len(goals) - len(fresh)]
        kept = int(np.count_nonzero(self._asked[self._goal_of] == self._calls))
        if kept + len(goals) > most:
            raise InvalidValueError(
                f"distances to {kept + len(goals)} goals on {len(self._sources)} nodes take more than"
                f" {self._most_memory / 1e9:g} GB; use fewer robots, or larger cells"
            )
        # Their rows are taken over by new goals.
        self._row_of[self._goal_of[oldest]] = -1
        rows = np.concatenate((fresh, oldest))
        self._goal_of = np.concatenate((self._goal_of, goals[: len(fresh)]))
        shut = self._blocked | self._barred
        for key, row in zip(goals.tolist(), rows.tolist(), strict=True):
            wide, goal = divmod(key, len(self._sources))
            blocked = shut if wide else self._blocked
            shut[goal] = self._blocked[goal]
            if self._costs is None:
                farthest = spread(self._sources, blocked, goal, self._full, self._queue)
            else:
                farthest = spread_costs(self._sources, self._costs, blocked, goal, self._full, self._queue)
            shut[goal] |= self._barred[goal]
            # Written up to here, but given up: the caller starts again with wider numbers.
            if farthest > LONGEST_SHORT and self.steps.dtype == np.int16:
                return False
            self.steps[row] = self._full
            self._goal_of[row] = key
            self._row_of[key] = row
        return True


@compiled
def spread(sources: Links, blocked: Bools, goal: int, steps: Links, queue: Links) -> int:
    """Write the steps (N,) of each node to `goal`, -1 without a way; `queue` (N,) is scratch. Returns the largest."""
    steps[:] = -1
    steps[goal] = 0
    queue[0] = goal
    begin, end = 0, 1
    while begin < end:
        # Breadth first: the first way to a node is a shortest one.
        node = queue[begin]
        begin += 1
        if blocked[node]:
            # A blocked goal can be reached, as somebody may stand on it; from there nobody goes on.
            continue
        for column in range(sources.shape[1]):
            source = sources[node, column]
            if source >= 0 and steps[source] < 0:
                steps[source] = steps[node] + 1
                queue[end] = source
                end += 1
    return int(steps[queue[end - 1]])


@compiled
def spread_costs(sources: Links, costs: Links, blocked: Bools, goal: int, steps: Links, queue: Links) -> int:
    """Do what `spread` does where moves from `sources` count as `costs` (N, K) steps."""
    # A queue as a ring, in which a node is at most once: so it never needs more room than there are nodes.
    count = len(steps)
    waits_mask = np.zeros(count, np.bool_)
    steps[:] = -1
    steps[goal] = 0
    queue[0] = goal
    begin, waiting, farthest = 0, 1, 0
    while waiting > 0:
        node = queue[begin]
        begin, waiting = (begin + 1) % count, waiting - 1
        waits_mask[node] = False
        if blocked[node]:
            continue
        for column in range(sources.shape[1]):
            source = sources[node, column]
            away = steps[node] + costs[node, column]
            # Found by a shorter way later on, a node is looked at again.
            if source >= 0 and (steps[source] < 0 or away < steps[source]):
                steps[source] = away
                if not waits_mask[source]:
                    waits_mask[source] = True
                    queue[(begin + waiting) % count] = source
                    waiting += 1
    for node in range(count):
        farthest = max(farthest, steps[node])
    return int(farthest)
