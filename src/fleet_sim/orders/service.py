"""Service: whose turn it is at each place."""

from __future__ import annotations

from collections import deque
from typing import Any


class Service:
    """Each place serves `at_once` robots; the others wait in the order they came."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._served: dict[int, list[int]] = {}
        self._queues: dict[int, deque[int]] = {}

    def enter(self, place: int, row: int) -> bool:
        """Let a robot be served at `place`; return whether it is at once. If not, `leave` returns it later."""
        served = self._served.setdefault(place, [])
        if len(served) < self._at_once:
            served.append(row)
            return True
        self._queues.setdefault(place, deque()).append(row)
        return False

    def leave(self, place: int, row: int) -> int | None:
        """Let a robot go, served or not; return the one whose turn it is now, if this changed."""
        queue = self._queues.get(place)
        if queue is not None and row in queue:
            queue.remove(row)
            return None
        served = self._served.get(place)
        if served is None or row not in served:
            return None
        served.remove(row)
        if not queue:
            return None
        following = queue.popleft()
        served.append(following)
        return following

    def length(self, place: int) -> int:
        """Return how many robots are served or wait at `place`."""
        return len(self._served.get(place, ())) + len(self._queues.get(place, ()))

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return (
            {place: list(rows) for place, rows in self._served.items()},
            {place: list(rows) for place, rows in self._queues.items()},
        )

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        served, queues = saved
        self._served = {place: list(rows) for place, rows in served.items()}
        self._queues = {place: deque(rows) for place, rows in queues.items()}
