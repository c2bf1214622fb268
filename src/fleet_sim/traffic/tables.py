"""Distance tables: steps from every node of a network to some goals, by breadth-first search."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.kernels import compiled
from fleet_sim.traffic.repairs import Links as Links
from fleet_sim.traffic.repairs import Moves, repair_rows, scratch_of, turned
from fleet_sim.traffic.repairs import Steps as Steps

Words: TypeAlias = npt.NDArray[np.uint64]
"""States of random numbers in kernels."""

MOST_MEMORY = 1_500_000_000
"""Of the tables of one network, in bytes: those of 19,000 goals on 38,600 nodes. Only what is used is taken."""
LONGEST_SHORT = 32_767
LONGEST = 2**31 - 1
RECENT = 32
"""Calls: tables not asked for in so many are made anew when they are, once there are more of them than of others."""
MOST_REPAIRED = 0.05
"""Of all nodes: where more are blocked or free other than before, tables are made anew when they are asked for."""


class DistanceTables:
    """Tables of the goals asked for last, in rows of one array that kernels read.

    `sources` (N, K) has the nodes from which each node is entered, -1 padded. Nodes that are blocked are walked out of,
    never into: they have a distance themselves, but no way leads through them. Barred ones are so for wide robots,
    except as their goals; distances to goal g for wide robots are known by the key N + g, for others by g.
    """

    def __init__(self, sources: Links, most_memory: int = MOST_MEMORY, costs: Links | None = None) -> None:
        """`costs` (N, K) are the steps that moves from `sources` count as: 1, or one other number.

        They count as 1 without.
        """
        self._sources = sources
        self._costs = np.ones_like(sources) if costs is None else costs
        self._even = costs is None
        self._most_memory = most_memory
        self._blocked: Bools = np.zeros(len(sources), bool)
        self._barred: Bools = np.zeros(len(sources), bool)
        # By key: its row, and when it was asked for last; by row: its key.
        self._row_of = np.full(2 * len(sources), -1, np.int64)
        self._asked = np.zeros(2 * len(sources), np.int64)
        self._goal_of = np.empty(0, np.int64)
        self._calls = 0
        # For repairs, made at the first.
        self._moves: Moves | None = None
        self._queues = np.empty((4, len(sources)), np.int32)
        self._full = np.empty(len(sources), np.int32)
        self.steps: Steps = self._empty(np.int16)

    def _empty(self, kind: type[np.signedinteger[Any]]) -> Steps:
        count = len(self._sources)
        # Never more rows than there may be goals; memory is taken when a row is written.
        most = min(max(self._most_memory // (max(count, 1) * np.dtype(kind).itemsize), 1), max(2 * count, 1))
        return np.empty((most, count), kind)

    def block(self, blocked: Bools, barred: Bools | None = None) -> None:
        """Let these nodes (N,) be blocked from now on, and barred; tables are mended where that changes a distance."""
        given = np.zeros(len(blocked), bool) if barred is None else barred
        changed = np.flatnonzero(blocked != self._blocked)
        rebarred = not np.array_equal(given, self._barred)
        if not len(changed) and not rebarred:
            return
        self._blocked, self._barred = blocked.copy(), given.copy()
        # Repairs know one set of nodes, and wide robots have another.
        wide = rebarred or bool((self._goal_of >= len(blocked)).any())
        if wide or len(changed) > MOST_REPAIRED * len(blocked) or not self._repair(changed):
            self._forget()

    def _repair(self, changed: Ints) -> bool:
        """Mend the tables where `changed` nodes lie on ways; returns whether steps fit the numbers."""
        self._forget_old()
        if not len(self._goal_of):
            return True
        if self._moves is None:
            self._moves = Moves(self._sources, *turned(self._sources, self._costs))
        longest = LONGEST_SHORT if self.steps.dtype == np.int16 else LONGEST
        scratch = scratch_of(len(self._blocked))
        return repair_rows(self._moves, scratch, self._blocked, changed, self.steps, self._goal_of, longest)

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

    def leading_to(self, goal: int) -> Bools:
        """Return the nodes (N,) from which a way leads to `goal`; no table is kept for that."""
        spread(self._sources, self._blocked, goal, self._full, self._queues[0])
        return np.asarray(self._full >= 0)

    def _forget_old(self) -> None:
        """Forget the tables that nobody has asked for of late: to mend them all takes longer the longer a run is."""
        recent_mask = self._asked[self._goal_of] > self._calls - RECENT
        kept = np.flatnonzero(recent_mask)
        if 2 * len(kept) >= len(self._goal_of):
            return
        self._row_of[self._goal_of[~recent_mask]] = -1
        self._goal_of = self._goal_of[kept]
        self.steps[: len(kept)] = self.steps[kept]
        self._row_of[self._goal_of] = np.arange(len(kept))

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
            if self._even:
                farthest = spread(self._sources, blocked, goal, self._full, self._queues[0])
            else:
                farthest = spread_costs(self._sources, self._costs, blocked, goal, self._full, self._queues)
            shut[goal] |= self._barred[goal]
            # Written up to here, but given up: the caller starts again with wider numbers.
            if farthest > LONGEST_SHORT and self.steps.dtype == np.int16:
                return False
            self.steps[row] = self._full
            self._goal_of[row] = key
            self._row_of[key] = row
        return True


@compiled
def flood(links: Links, blocked: Bools, start: int, reached_mask: Bools, queue: Links) -> None:
    """Write which nodes (N,) can be reached from `start`; `queue` (N,) is scratch."""
    reached_mask[:] = False
    reached_mask[start], queue[0] = True, start
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for column in range(links.shape[1]):
            other = links[node, column]
            if other >= 0 and not blocked[other] and not reached_mask[other]:
                reached_mask[other], queue[end] = True, other
                end += 1


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
def spread_costs(sources: Links, costs: Links, blocked: Bools, goal: int, steps: Links, queues: Links) -> int:
    """Do what `spread` does where moves from `sources` count as `costs` (N, K) steps: 1, or one other number.

    Nodes found by moves of one kind come in the order of their steps, so there is a queue for each kind; `queues`
    (4, N) is scratch for nodes and steps of both.
    """
    ones, their_steps, others, other_steps = queues[0], queues[1], queues[2], queues[3]
    steps[:] = -1
    steps[goal], ones[0], their_steps[0] = 0, goal, 0
    begin, end, begin_other, end_other, away = 0, 1, 0, 0, 0
    while begin < end or begin_other < end_other:
        if begin_other == end_other or (begin < end and their_steps[begin] <= other_steps[begin_other]):
            node, away = ones[begin], their_steps[begin]
            begin += 1
        else:
            node, away = others[begin_other], other_steps[begin_other]
            begin_other += 1
        # It may have been found by a shorter way since.
        if away > steps[node] or blocked[node]:
            continue
        for column in range(sources.shape[1]):
            source, further = sources[node, column], away + costs[node, column]
            if source < 0 or 0 <= steps[source] <= further:
                continue
            steps[source] = further
            if costs[node, column] == 1:
                ones[end], their_steps[end] = source, further
                end += 1
            else:
                others[end_other], other_steps[end_other] = source, further
                end_other += 1
    return int(away)
