"""Timers: what is to happen at a tick, in the order it was asked for."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

from fleet_sim.saved_classes import saved


@saved
class Timer(NamedTuple):
    """`what` is due for `subject` at `tick`; `token` tells whether it still matters then."""

    tick: int
    number: int
    what: str
    subject: int
    token: int


class Timers:
    """Costs a comparison per step while nothing is due."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._count = 0

    def add(self, tick: int, what: str, subject: int, token: int = 0) -> None:
        """Let `what` be due at `tick`, or at once where that is past."""
        heapq.heappush(self._heap, Timer(tick, self._count, what, subject, token))
        self._count += 1

    def due(self, tick: int) -> list[Timer]:
        """Return and forget what is due until `tick`, earliest first."""
        found = []
        while self._heap and self._heap[0].tick <= tick:
            found.append(heapq.heappop(self._heap))
        return found

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return list(self._heap), self._count

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self._heap, self._count = list(saved[0]), saved[1]
