"""Keeping agents apart in many squares at once: what `separation.py` does in one world, to the bit.

Most squares have nothing to do in most steps. One look over all pairs finds the others, and only these are pushed.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Rows
from fleet_sim.core.columns import numbers_of
from fleet_sim.kernels import compiled_step
from fleet_sim.swarm.separation import Bodies, all_pairs, forget_contacts, is_busy, separate
from fleet_sim.swarm.squares.board import Board


class ApartInSquares:
    """Keeps the discs of every square of a board apart; all squares have as many."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._rows = board.collidable.reshape(board.squares, -1)
        self._radii = board.swarm.agent_radius[self._rows]
        self._first, self._second = all_pairs(self._rows.shape[1])
        self._movers: dict[int, _Movers] = {}

    def keep_apart(self, movers: Rows) -> None:
        """Do what `separation.keep_apart` does after `movers` of all squares moved; the array is the same each time."""
        board = self._board
        forget_contacts(board, movers)
        if not self._rows.size or not len(movers):
            return
        known = self._movers.get(id(movers))
        if known is None or known.rows is not movers:
            known = self._movers[id(movers)] = self._about(movers)
        squares = self._busy(known)
        if not len(squares):
            return
        rows = self._rows[squares].reshape(-1)
        centres, movable_mask = board.columns.position[rows, :2], known.movable_mask[squares]
        bodies = Bodies(rows, centres, self._radii[squares].reshape(-1), movable_mask.reshape(-1))
        # Square by square, each with its pairs in their order: sums over several pushes come out as in one world.
        shift = np.arange(len(squares))[:, None] * self._rows.shape[1]
        separate(board, bodies, ((shift + known.first).reshape(-1), (shift + known.second).reshape(-1)))

    def _about(self, movers: Rows) -> _Movers:
        """Return what does not change from step to step: nobody comes or goes, and nobody is given other settings."""
        moving_mask = np.zeros(self._board.columns.capacity, np.bool_)
        moving_mask[movers] = True
        movable_mask = moving_mask[self._rows] & ~self._board.swarm.grounded[self._rows]
        # Of the first world. Worlds alike have the same ones.
        ones = movable_mask[0]
        pairs = (ones[self._first] | ones[self._second]).nonzero()[0]
        return _Movers(movers, movable_mask, self._first.take(pairs), self._second.take(pairs))

    def _busy(self, about: _Movers) -> Rows:
        """Return the squares in which there may be something to do."""
        board, squares = self._board, len(self._rows)
        if board.polygons:
            return np.arange(squares)
        (width, height), walls = board.config.size, board.config.collide_walls
        moving_mask = about.movable_mask[0]
        if board.columns.compiled:
            busy_mask = np.zeros(squares, np.bool_)
            found = _mark_busy(
                board.columns.position, self._rows, self._radii, moving_mask, width, height, walls, busy_mask
            )
            return busy_mask.nonzero()[0] if found else NO_ROWS
        position, moves, look = numbers_of(board.columns.position), moving_mask.tolist(), cast("Any", is_busy.in_python)
        each = zip(self._rows.tolist(), self._radii.tolist(), strict=True)
        busy = [look(position, rows, radii, moves, width, height, walls) for rows, radii in each]
        return np.flatnonzero(busy)


class _Movers(NamedTuple):
    """Who moves: rows, and which of the bodies may be pushed (S, B); the pairs (P,) of bodies to be looked at."""

    rows: Rows
    movable_mask: Bools
    first: Rows
    second: Rows


@compiled_step
def _mark_busy(
    position: Floats,
    rows: Rows,
    radii: Floats,
    moving_mask: Bools,
    width: float,
    height: float,
    walls: bool,
    busy_mask: Bools,
) -> int:
    """Set `busy_mask` (S,) of squares in which bodies `rows` (S, B) overlap, as `is_busy`; return how many."""
    found = 0
    for square in range(len(rows)):
        busy_mask[square] = is_busy(position, rows[square], radii[square], moving_mask, width, height, walls)
        found += busy_mask[square]
    return found
