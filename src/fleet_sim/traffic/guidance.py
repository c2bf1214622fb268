"""Guidance: the rows and columns of a grid as one-way roads in turns, which robots prefer to keep to."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Ints
from fleet_sim.traffic.tables import Links

ROAD = 0.5
"""Of the moves of the longest row: a row with so many is a road, and turns the direction of those that follow."""


def entry_costs(cells: Ints, width: int, links: Links, sources: Links, against: int) -> Links:
    """Return how many steps (N, L) the moves from `sources` (N, L) count as: 1, or `against` the road that many.

    `cells` (N,) are those of the nodes on a grid of `width` columns. Roads lead one way and the other in turns. What is
    between two, such as the cells between shelves, has the direction of the road before it.
    """
    rows, columns = np.divmod(cells, width)
    ends = np.where(links >= 0, links, np.arange(len(cells))[:, None])
    onward, upward = _in_turns(rows, columns, ends), _in_turns(columns, rows, ends)
    begins = np.where(sources >= 0, sources, np.arange(len(cells))[:, None])
    along, across = columns[:, None] - columns[begins], rows[:, None] - rows[begins]
    wrong_mask = np.where(along != 0, (along > 0) != onward[rows][:, None], (across > 0) != upward[columns][:, None])
    return np.where(wrong_mask, against, 1).astype(np.int32)


def _in_turns(lines: Ints, places: Ints, ends: Ints) -> Bools:
    """Return of each line whether it leads to higher places; `lines` and `places` (N,) of nodes, `ends` of moves."""
    moves = np.bincount(lines, weights=(places[ends] != places[:, None]).sum(axis=1))
    return np.asarray(np.cumsum(moves >= ROAD * max(moves.max(initial=0.0), 1.0)) % 2 == 0)
