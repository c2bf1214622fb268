"""Repairs of distance tables where nodes are blocked or free again: only nodes whose distance changes are looked at."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Ints
from fleet_sim.kernels import compiled

Links: TypeAlias = npt.NDArray[np.int32]
"""Nodes by number, as kernels read them: half the memory of Ints."""
Steps: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Numbers of steps (goals, N), -1 where the goal cannot be reached: int16, or int32 where ways are longer."""
FAR = 1 << 40


def turned(sources: Links, costs: Links) -> tuple[Links, Links]:
    """Return the ends (N, K) of the moves from each node, -1 padded, and their costs, of those `sources` enter by."""
    ends, columns = np.nonzero(sources >= 0)
    begins = sources[ends, columns]
    # Sorted, the moves from a node lie together; the place among them is the column.
    order = np.lexsort((ends, begins))
    begins, ends, paid = begins[order], ends[order], costs[ends, columns][order]
    places = np.arange(len(begins)) - np.searchsorted(begins, begins)
    shape = len(sources), int(places.max(initial=-1)) + 1
    leaving, leaving_costs = np.full(shape, -1, np.int32), np.ones(shape, np.int32)
    leaving[begins, places], leaving_costs[begins, places] = ends, paid
    return leaving, leaving_costs


class Moves(NamedTuple):
    """The moves of a network: `sources` (N, L) and `ends` (N, K) of each node, and what those to `ends` cost (N, K)."""

    sources: Links
    ends: Links
    costs: Links


class RepairScratch(NamedTuple):
    """Nodes that wait in a ring, who waits there, and those that a repair began with, each once."""

    ring: Links
    waits_mask: Bools
    seeds: Links
    seed_mask: Bools


def scratch_of(count: int) -> RepairScratch:
    """Return scratch for a network of `count` nodes."""
    return RepairScratch(
        np.empty(count, np.int32), np.zeros(count, bool), np.empty(count, np.int32), np.zeros(count, bool)
    )


@compiled
def repair_rows(
    moves: Moves, scratch: RepairScratch, blocked: Bools, changed: Ints, steps: Steps, goals: Ints, longest: int
) -> bool:
    """Make the first rows of `steps` (rows, N), those to `goals` (R,), right for `blocked` (N,).

    `changed` are the nodes that are blocked or free other than before. Returns whether no number is over `longest`;
    otherwise rows are wrong.
    """
    for row in range(len(goals)):
        count = _cut(moves, scratch, blocked, changed, steps[row], goals[row])
        if not _mend(moves, scratch, blocked, steps[row], goals[row], count, longest):
            return False
    return True


@compiled
def _best(moves: Moves, blocked: Bools, own: Steps, node: int) -> int:
    """Return the least that a way from `node` costs, as those beside it have it; FAR for none."""
    best = FAR
    for column in range(moves.ends.shape[1]):
        end = moves.ends[node, column]
        if end >= 0 and not blocked[end] and own[end] >= 0:
            best = min(best, np.int64(own[end]) + moves.costs[node, column])
    return best


@compiled
def _cut(moves: Moves, scratch: RepairScratch, blocked: Bools, changed: Ints, own: Steps, goal: int) -> int:
    """Write -1 for nodes all of whose ways led through what is blocked now.

    Returns how many seeds there are: these, and those beside nodes that changed, which may have shorter ways.
    """
    count, first, waiting = 0, 0, 0
    for node in changed:
        for column in range(moves.sources.shape[1]):
            source = moves.sources[node, column]
            if source >= 0 and not scratch.seed_mask[source]:
                count = _sow(scratch, source, count)
                waiting = _wait(scratch, source, first, waiting)
    while waiting > 0:
        node = scratch.ring[first]
        scratch.waits_mask[node] = False
        first, waiting = (first + 1) % len(own), waiting - 1
        # Another way that is as short is left, so the number stays, and those of all that lead here.
        if node == goal or own[node] < 0 or _best(moves, blocked, own, node) <= own[node]:
            continue
        own[node] = -1
        if not scratch.seed_mask[node]:
            count = _sow(scratch, node, count)
        for column in range(moves.sources.shape[1]):
            source = moves.sources[node, column]
            if source >= 0 and not blocked[node] and own[source] >= 0 and not scratch.waits_mask[source]:
                waiting = _wait(scratch, source, first, waiting)
    return count


@compiled
def _mend(
    moves: Moves, scratch: RepairScratch, blocked: Bools, own: Steps, goal: int, count: int, longest: int
) -> bool:
    """Write the least costs of the `count` seeds, and of all for whom that changes it; returns whether they fit."""
    first, waiting = 0, 0
    for number in range(count):
        scratch.seed_mask[scratch.seeds[number]] = False
        waiting = _wait(scratch, scratch.seeds[number], first, waiting)
    while waiting > 0:
        node = scratch.ring[first]
        scratch.waits_mask[node] = False
        first, waiting = (first + 1) % len(own), waiting - 1
        # As Bellman and Ford do: who gets less tells those before it, until nobody gets less. Nobody waits in the ring
        # twice, so it is never too short.
        best = _best(moves, blocked, own, node)
        if node == goal or best >= FAR or 0 <= own[node] <= best:
            continue
        # It does not fit into the type of the table; all of it has to be made anew.
        if best > longest:
            scratch.waits_mask[:] = False
            return False
        own[node] = best
        for column in range(moves.sources.shape[1]):
            source = moves.sources[node, column]
            if source >= 0 and not blocked[node] and not scratch.waits_mask[source]:
                waiting = _wait(scratch, source, first, waiting)
    return True


@compiled
def _sow(scratch: RepairScratch, node: int, count: int) -> int:
    """Add a seed; returns how many there are."""
    scratch.seed_mask[node] = True
    scratch.seeds[count] = node
    return count + 1


@compiled
def _wait(scratch: RepairScratch, node: int, first: int, waiting: int) -> int:
    """Add a node to those that wait; returns how many do."""
    scratch.waits_mask[node] = True
    scratch.ring[(first + waiting) % len(scratch.ring)] = node
    return waiting + 1
