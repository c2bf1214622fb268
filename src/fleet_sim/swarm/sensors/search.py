"""Tests whether agents detect anything, from near to far: an agent with a hit is not tested further."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.neighbours import is_limited, targets_about

Test = Callable[[Rows, Rows], Bools]
"""From agents and candidates to which pairs of them are hits: (M,) and (M,) to (M,), or (K, 1) and (1, M) to (K, M)."""

_FEW_PAIRS = 1024
"""Number of pairs up to which testing all is faster than searching for near ones."""

_BLOCK = 1 << 15
"""Pairs tested at once where everybody is looked at: they stay in the processor's cache."""
_GROWTH = 3.0
_NEIGHBOURS = 8.0
"""Approximate number of candidates within the first radius, if they are spread evenly."""


class Candidates:
    """The agents that a group may see: all others, or those of one team."""

    def __init__(self, group: Group, team: int = -1) -> None:
        everyone = group.world.everyone
        rows = everyone.rows
        chosen = None if team < 0 else np.flatnonzero(everyone.teams == team)
        self.rows: Rows = rows if chosen is None else rows[chosen]
        self.positions: Floats = everyone.positions if chosen is None else everyone.positions[chosen]
        self.radii: Floats = everyone.radii if chosen is None else everyone.radii[chosen]
        self.squares = group.world.squares
        self.own_rows: Rows = group.rows
        """The rows of the observers."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nobody(self) -> bool:
        """Whether there is nobody but the observers, each alone in a world of its own."""
        # Then nothing can be hit, and the search would only find that out.
        return len(self.rows) == self.squares and np.array_equal(self.rows, self.own_rows)

    def others(self, agent: Rows, candidate: Rows) -> tuple[Rows, Rows]:
        """Leave out the pairs of an agent with itself."""
        kept = np.flatnonzero(self.own_rows.take(agent) != self.rows.take(candidate))
        return agent.take(kept), candidate.take(kept)


def any_hit(origins: Floats, candidates: Candidates, reach: float, test: Test) -> Bools:
    """Return which agents at `origins` (N, 2) have a hit among `candidates`; no hit may be farther away than `reach`.

    Near candidates are tested first, and an agent with a hit is not tested further: the result is the same.
    """
    hit_mask = np.zeros(len(origins), bool)
    if not len(candidates) or not len(origins) or candidates.nobody:
        return hit_mask
    if candidates.squares > 1:
        _look_in_squares(len(origins), candidates, test, hit_mask)
        return hit_mask
    left = np.arange(len(origins))
    if len(origins) * len(candidates) <= _FEW_PAIRS:
        _look_everywhere(left, candidates, test, hit_mask)
        return hit_mask
    # From near to far; with few candidates all of this costs more than it saves.
    radius = _first_radius(candidates.positions)
    # Most agents see somebody near, so a small circle answers for most of them. It grows for those who are left.
    while len(left) and radius < reach and is_limited(radius, candidates.positions):
        left = _look_near(left, origins, radius, candidates, test, hit_mask)
        radius *= _GROWTH
    if is_limited(reach, candidates.positions):
        _look_near(left, origins, reach, candidates, test, hit_mask)
    else:
        _look_everywhere(left, candidates, test, hit_mask)
    return hit_mask


def _look_near(left: Rows, origins: Floats, radius: float, candidates: Candidates, test: Test, hit_mask: Bools) -> Rows:
    # "A little more": candidates come in grid cells, and the test itself knows the exact reach.
    """Mark the agents of `left` with a hit within `radius`, or a little more; return those without one."""
    local, candidate = targets_about(origins.take(left, axis=0), candidates.positions, radius)
    agent, candidate = candidates.others(left.take(local), candidate)
    hit_mask[agent[test(agent, candidate)]] = True
    return left[~hit_mask[left]]


def _look_everywhere(left: Rows, candidates: Candidates, test: Test, hit_mask: Bools) -> None:
    """Mark the agents of `left` with a hit at any distance."""
    everybody = np.arange(len(candidates))[None, :]
    rows = max(1, _BLOCK // len(candidates))
    for begin in range(0, len(left), rows):
        agent = left[begin : begin + rows, None]
        hits = test(agent, everybody)
        # Nobody detects itself.
        hits &= candidates.own_rows.take(agent) != candidates.rows
        hit_mask[agent[:, 0]] = hits.any(axis=1)


def _look_in_squares(count: int, candidates: Candidates, test: Test, hit_mask: Bools) -> None:
    """Mark the agents with a hit in their own square: each of these has as many of them, and as many candidates."""
    agents, each = _own_candidates(count, len(candidates), candidates.squares)
    rows = max(1, _BLOCK // each.shape[1])
    for begin in range(0, count, rows):
        agent, candidate = agents[begin : begin + rows], each[begin : begin + rows]
        hits = test(agent, candidate)
        hits &= candidates.own_rows.take(agent) != candidates.rows.take(candidate)
        hit_mask[begin : begin + rows] = hits.any(axis=1)


@lru_cache(maxsize=64)
def _own_candidates(count: int, total: int, squares: int) -> tuple[Rows, Rows]:
    """Return the agents (N, 1), and the candidates (N, K) in the square of each."""
    agents, each = np.arange(count)[:, None], total // squares
    candidates = agents // (count // squares) * each + np.arange(each)
    agents.flags.writeable = candidates.flags.writeable = False
    return agents, candidates


def _first_radius(positions: Floats) -> float:
    spread = (positions.max(axis=0) - positions.min(axis=0)).tolist()
    # Agents on one line, or in one place, have no area; the bound keeps the first radius above 0.
    area = max(spread[0] * spread[1], 1e-12)
    return float(np.sqrt(_NEIGHBOURS * area / (np.pi * len(positions))))
