"""Keeping agents apart in many squares at once: what `separation.py` does in one world, to the bit.

Most squares have nothing to do in most steps. One look over all pairs finds the others, and only these are pushed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Rows
from fleet_sim.swarm.near_pairs import Bodies, all_pairs
from fleet_sim.swarm.separation import forget_contacts, separate
from fleet_sim.swarm.squares.board import Board
from fleet_sim.swarm.squares.compiled_squares import mark_near, mark_outside


class ApartInSquares:
    """Keeps the discs of every square of a board apart; all squares have as many."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._rows = board.collidable.reshape(board.squares, -1)
        self._radii = board.swarm.agent_radius[self._rows]
        # A little more than the distance at which two of them touch, squared: whether they do is found out later.
        self._first, self._second = all_pairs(self._rows.shape[1])
        reach = self._radii.take(self._first, axis=1) + self._radii.take(self._second, axis=1)
        self._squares = reach * reach * (1.0 + 1e-9)
        width, height = board.config.size
        # As in `separation.py`: a disc wider than the world is kept in its middle.
        self._low = np.stack((np.minimum(self._radii, 0.5 * width), np.minimum(self._radii, 0.5 * height)))
        self._high = np.stack((width - self._low[0], height - self._low[1]))
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
        reach = np.ascontiguousarray(self._squares.take(pairs, axis=1))
        mask = np.zeros(len(self._rows), np.bool_)
        return _Movers(
            movers, movable_mask, ones.nonzero()[0], self._first.take(pairs), self._second.take(pairs), reach, mask
        )

    def _busy(self, about: _Movers) -> Rows:
        """Return the squares in which there may be something to do."""
        if not self._board.columns.compiled or self._board.polygons:
            return self._busy_mask(about).nonzero()[0]
        position, rows, mask = self._board.columns.position, self._rows, about.busy_mask
        found = mark_near(position, rows, about.first, about.second, about.reach, mask)
        if self._board.config.collide_walls:
            found = mark_outside(position, rows, about.ones, self._low, self._high, mask)
        return mask.nonzero()[0] if found else NO_ROWS

    def _busy_mask(self, about: _Movers) -> Bools:
        """Return in which squares (S,) somebody may overlap another one or the border, or there are polygons."""
        board = self._board
        if board.polygons:
            return np.ones(len(self._rows), np.bool_)
        flat = board.columns.position.reshape(-1)
        x, y = flat.take(3 * self._rows), flat.take(3 * self._rows + 1)
        ones, first, second = about.ones, about.first, about.second
        away_x = x.take(first, axis=1) - x.take(second, axis=1)
        away_y = y.take(first, axis=1) - y.take(second, axis=1)
        away_x *= away_x
        away_y *= away_y
        away_x += away_y
        busy_mask: Bools = np.asarray((away_x <= about.reach).any(axis=1))
        if board.config.collide_walls:
            for place, low, high in ((x, self._low[0], self._high[0]), (y, self._low[1], self._high[1])):
                outside_mask = (place < low) | (place > high)
                busy_mask |= outside_mask.take(ones, axis=1).any(axis=1)
        return busy_mask


class _Movers(NamedTuple):
    """Who moves: rows, and which of the bodies may be pushed (S, C); the bodies (C,) and pairs (P,) to be looked at.

    Pairs have the squared distances `reach` (S, P). `busy_mask` (S,) is written in each step.
    """

    rows: Rows
    movable_mask: Bools
    ones: Rows
    first: Rows
    second: Rows
    reach: Floats
    busy_mask: Bools
