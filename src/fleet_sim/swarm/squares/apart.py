"""Keeping agents apart in many squares at once: what `separation.py` does in one world, to the bit.

Most squares have nothing to do in most steps. One look over all pairs finds the others, and only these are pushed.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Rows
from fleet_sim.swarm.separation import EXACT, Bodies, all_pairs, separate
from fleet_sim.swarm.squares.board import Board


class ApartInSquares:
    """Keeps the discs of every square of a board apart; all squares have as many."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._rows = board.collidable.reshape(board.squares, -1)
        self._radii = board.swarm.agent_radius[self._rows]
        self._first, self._second = all_pairs(self._rows.shape[1])
        self._reach = self._radii[:, self._first] + self._radii[:, self._second]
        size = np.array(board.config.size)
        # As in `separation.py`: a disc wider than the world is kept in its middle.
        self._low = np.minimum(self._radii[:, :, None], 0.5 * size)
        self._high = size - self._low

    def keep_apart(self, movers: Rows) -> None:
        """Do what `separation.keep_apart` does after `movers` of all squares moved."""
        board = self._board
        board.swarm.touching[movers] = False
        if not self._rows.size or not len(movers):
            return
        moving_mask = np.zeros(board.columns.capacity, np.bool_)
        moving_mask[movers] = True
        movable_mask = moving_mask[self._rows] & ~board.swarm.grounded[self._rows]
        near_mask = movable_mask[:, self._first] | movable_mask[:, self._second]
        squares = self._busy_mask(movable_mask, near_mask).nonzero()[0]
        if not len(squares):
            return
        rows = self._rows[squares].reshape(-1)
        bodies = Bodies(
            rows, board.columns.position[rows, :2], self._radii[squares].reshape(-1), movable_mask[squares].reshape(-1)
        )
        # Square by square, each with its pairs in their order: sums over several pushes come out as in one world.
        shift = np.arange(len(squares))[:, None] * self._rows.shape[1]
        near = near_mask[squares]
        separate(board, bodies, ((shift + self._first)[near], (shift + self._second)[near]))

    def _busy_mask(self, movable_mask: Bools, near_mask: Bools) -> Bools:
        """Return in which squares (S,) somebody overlaps another one or the border, or there are polygons."""
        board, squares = self._board, len(self._rows)
        if board.polygons:
            return np.ones(squares, np.bool_)
        places = board.columns.position.take(self._rows, axis=0)
        x, y = np.ascontiguousarray(places[:, :, 0]), np.ascontiguousarray(places[:, :, 1])
        away_x = x.take(self._first, axis=1) - x.take(self._second, axis=1)
        away_y = y.take(self._first, axis=1) - y.take(self._second, axis=1)
        over_mask = self._reach - np.sqrt(away_x * away_x + away_y * away_y) > EXACT
        busy_mask: Bools = np.asarray((over_mask & near_mask).any(axis=1))
        if board.config.collide_walls:
            outside_mask = (places[:, :, :2] < self._low) | (places[:, :, :2] > self._high)
            busy_mask |= (outside_mask.any(axis=2) & movable_mask).any(axis=1)
        return busy_mask
