"""FreeRows: the rows of a world that no entity lives in, in the order in which new ones take them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints, Rows

_LEAST = 64


class FreeRows:
    """A stack of rows with the lowest on top.

    Living rows so stay together at the front, where slices of columns are cheap.
    """

    def __init__(self, capacity: int) -> None:
        self._stack: Ints = np.arange(capacity - 1, -1, -1)
        self._size = capacity
        self._resting: list[Rows] = []
        self._fresh = 0

    def __len__(self) -> int:
        return self._size

    def grow(self, old: int, capacity: int) -> None:
        """Add the rows from `old` up to `capacity`."""
        # To the bottom of the stack: free rows below the old capacity are taken first.
        self._put(np.concatenate((np.arange(capacity - 1, old - 1, -1), self._stack[: self._size])))

    def take(self, count: int) -> Rows:
        """Take the next `count` rows (N,); there must be as many."""
        self._size -= count
        # Copied: the place they leave is written when rows come back.
        taken = self._stack[self._size : self._size + count][::-1].copy()
        # A full world needs no room for free rows. Not sooner: taking one by one costs a constant time on average.
        if 4 * self._size + _LEAST < len(self._stack):
            self._stack = self._stack[: self._size].copy()
        return taken

    def used_before(self, rows: Rows) -> Rows:
        """Return which of `rows`, just taken, were an entity's before; all columns of the others hold the defaults."""
        again = rows[rows < self._fresh]
        self._fresh = max(self._fresh, int(rows.max(initial=-1)) + 1)
        return again

    def give_back(self, rows: Rows, *, rest: bool) -> None:
        """Add freed rows; with `rest` they are not taken before `end_step`."""
        if rest:
            self._resting.append(rows[::-1])
        else:
            self._push(rows[::-1])

    def end_step(self) -> None:
        """Make rows that rest available."""
        if self._resting:
            self._push(np.concatenate(self._resting))
            self._resting.clear()

    def save(self) -> Rows:
        """Return the free rows, for a checkpoint between two steps."""
        return self._stack[: self._size].copy()

    def restore(self, saved: Rows, old: int, capacity: int) -> None:
        """Go back to what `save` returned at a capacity of `old`; rows added by growth since then come last."""
        # In the saved order, so that the same spawns take the same rows again.
        self._put(np.concatenate((np.arange(capacity - 1, old - 1, -1), saved)))
        self._resting.clear()
        # Their columns were just overwritten by those of the checkpoint, which may be of another process.
        self._fresh = max(self._fresh, old)

    def _put(self, stack: Ints) -> None:
        self._stack, self._size = stack, len(stack)

    def _push(self, rows: Rows) -> None:
        needed = self._size + len(rows)
        if needed > len(self._stack):
            # Doubled, so that giving back one by one costs a constant time on average.
            self._stack = np.concatenate((self._stack[: self._size], np.zeros(needed, np.int64)))
        self._stack[self._size : needed] = rows
        self._size = needed
