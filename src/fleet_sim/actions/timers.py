"""The timers of actions: which agents are to be woken at a step of the clock."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from fleet_sim.actions.base import Action

Timer = tuple[int, int, int, Action]
"""The tick it is due at, a serial number, the agent's row, and the action that waits."""

_LEAST_LIMIT = 64


class ActionTimers:
    """Timers of running actions, in the order in which they are due.

    `running` (row -> action) is the scheduler's: the timer of an action that has ended counts for nothing.
    """

    def __init__(self, running: Mapping[int, Action]) -> None:
        self._running = running
        self._heap: list[Timer] = []
        self._limit = _LEAST_LIMIT
        self._serial = 0

    def add(self, tick: int, row: int, action: Action) -> None:
        """Wake the agent in `row` at `tick`, if `action` still runs there by then."""
        # Breaks ties in the heap, as actions cannot be compared.
        self._serial += 1
        heapq.heappush(self._heap, (tick, self._serial, row, action))
        if len(self._heap) > self._limit:
            self._drop_old()

    def __len__(self) -> int:
        return len(self._heap)

    def due(self, tick: int) -> list[int]:
        """Take out the timers that are due at `tick`; return the rows whose action still runs."""
        rows: list[int] = []
        while self._heap and self._heap[0][0] <= tick:
            _, _, row, action = heapq.heappop(self._heap)
            # The timer of an action that has ended stays in the heap until it is due.
            if self._running.get(row) is action:
                rows.append(row)
        return rows

    def _drop_old(self) -> None:
        """Remove the timers of actions that have ended; late ones would accumulate."""
        self._heap = [timer for timer in self._heap if self._running.get(timer[2]) is timer[3]]
        heapq.heapify(self._heap)
        # Doubled, so that tidying up costs a constant time per timer on average.
        self._limit = max(_LEAST_LIMIT, 2 * len(self._heap))

    def save(self) -> list[Timer]:
        """Return all timers, for `restore`."""
        return list(self._heap)

    def restore(self, timers: list[Timer]) -> None:
        """Replace all timers by `timers`, as `save` returned them."""
        self._heap = list(timers)
