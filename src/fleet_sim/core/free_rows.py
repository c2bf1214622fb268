"""FreeRows: the rows of a world that no entity lives in, in the order in which new ones take them."""

from __future__ import annotations

from collections.abc import Sequence


class FreeRows:
    """A stack of rows with the lowest on top.

    Living rows so stay together at the front, where slices of columns are cheap.
    """

    def __init__(self, capacity: int) -> None:
        self._stack = list(range(capacity - 1, -1, -1))
        self._resting: list[int] = []

    def __len__(self) -> int:
        return len(self._stack)

    def grow(self, old: int, capacity: int) -> None:
        """Add the rows from `old` up to `capacity`."""
        # To the bottom of the stack: free rows below the old capacity are taken first.
        self._stack[:0] = range(capacity - 1, old - 1, -1)

    def take(self, count: int) -> list[int]:
        """Take the next `count` rows; there must be as many."""
        # A slice from -0 would be the whole stack.
        taken = self._stack[-count:][::-1] if count else []
        del self._stack[len(self._stack) - count :]
        return taken

    def give_back(self, rows: Sequence[int], *, rest: bool) -> None:
        """Add freed rows; with `rest` they are not taken before `end_step`."""
        (self._resting if rest else self._stack).extend(reversed(rows))

    def end_step(self) -> None:
        """Make rows that rest available."""
        if self._resting:
            self._stack.extend(self._resting)
            self._resting.clear()

    def save(self) -> list[int]:
        """Return the free rows, for a checkpoint between two steps."""
        return list(self._stack)

    def restore(self, saved: Sequence[int], old: int, capacity: int) -> None:
        """Go back to what `save` returned at a capacity of `old`; rows added by growth since then come last."""
        # In the saved order, so that the same spawns take the same rows again.
        self._stack = [*range(capacity - 1, old - 1, -1), *saved]
        self._resting.clear()
