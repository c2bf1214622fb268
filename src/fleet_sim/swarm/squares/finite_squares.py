"""The guard on broken poses for all squares at once: who has one is looked at by the guard of its own world."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.facade.finite import LARGEST, PERIOD
from fleet_sim.kernels import compiled_step
from fleet_sim.swarm.squares.board import Board
from fleet_sim.swarm.world import RectangularWorld


class FiniteSquares:
    """Does what each world's `FiniteGuard` does, in as many steps: good poses are written down at the same ones."""

    def __init__(self, board: Board, worlds: Sequence[RectangularWorld]) -> None:
        self._board = board
        self._worlds = worlds
        # Rows beyond the last living one hold nothing, so looking at them would only take time.
        self._top = 1 + max(int(world.columns.rows.max()) for world in worlds)
        self._good: tuple[Floats, Floats] | None = None

    def run(self, tell: Callable[[], None]) -> None:
        """Look at all poses; before a world's own guard mends one, `tell` lets the worlds know which step it is."""
        columns, squares = self._board.columns, self._board.squares
        whole = columns.position, columns.orientation
        tame = columns.compiled and _is_tame(*whole, self._board.capacity, self._top, LARGEST)
        if tame and columns.clock.tick % PERIOD:
            return
        positions = columns.position.reshape(squares, -1, 3)[:, : self._top]
        orientations = columns.orientation.reshape(squares, -1, 4)[:, : self._top]
        # As in the guard of one world: a sum and a largest number are spoilt by a single broken one.
        sums = np.add.reduce(positions, axis=(1, 2))
        largest = np.maximum.reduce(orientations, axis=(1, 2))
        good_mask = (np.abs(sums) <= LARGEST) & (largest <= 2.0)
        if np.count_nonzero(good_mask) < squares:
            tell()
            for square in (~good_mask).nonzero()[0].tolist():
                # The guard goes back to the last good pose it knows, which has been written down here meanwhile.
                self._give(square)
                self._worlds[square].sim.finite.run(0.0)
        if columns.clock.tick % PERIOD == 0:
            self._good = positions.copy(), orientations.copy()

    def finish(self) -> None:
        """Give every guard the poses that were written down last."""
        for square in range(len(self._worlds)):
            self._give(square)

    def _give(self, square: int) -> None:
        if self._good is not None:
            self._worlds[square].sim.finite.write_down(self._good[0][square], self._good[1][square])


@compiled_step
def _is_tame(positions: Floats, orientations: Floats, capacity: int, top: int, largest: float) -> bool:
    """Return whether no square can hold a broken pose among its first `top` rows of `capacity`; False says nothing.

    Sizes of positions are added, so that the order of the sum cannot matter: of half the largest, it is far off.
    """
    for begin in range(0, len(positions), capacity):
        total = 0.0
        for row in range(begin, begin + top):
            total += abs(positions[row, 0]) + abs(positions[row, 1]) + abs(positions[row, 2])
            for axis in range(4):
                # Written so that NaN is not tame.
                if not orientations[row, axis] <= 2.0:
                    return False
        if not total <= 0.5 * largest:
            return False
    return True
