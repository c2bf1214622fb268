"""The timers of an executor in the order in which they are due."""

from __future__ import annotations

import heapq
import itertools
import time
from threading import Lock

from .timer import Timer

_FOREVER = (1 << 63) - 1


class TimerSchedule:
    """A heap of timers by the time of their next call.

    A timer whose next call changes is added again; the earlier entry is skipped when it comes up. Timers of
    simulated
    clocks are not in here: they are due when their clock says so.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer, int]] = []
        self._count = itertools.count()
        self._lock = Lock()

    def add(self, timer: Timer) -> bool:
        """Plan the next call; whether it is the first of all."""
        due = time.monotonic_ns() + timer.next_call - timer.clock.now_ns()
        with self._lock:
            heapq.heappush(self._heap, (due, next(self._count), timer, timer.next_call))
            return self._heap[0][2] is timer

    def due(self) -> tuple[list[Timer], int]:
        """The timers that are due, and the nanoseconds until the next one."""
        ready: list[Timer] = []
        while self._heap:
            with self._lock:
                due, _, timer, planned = self._heap[0]
                current = planned == timer.next_call and timer.executor_key and not timer.is_canceled()
                left = due - time.monotonic_ns()
                if current and left > 0:
                    return ready, left
                heapq.heappop(self._heap)
            if not current or timer.clock.is_simulated:
                continue
            if timer.is_ready():
                ready.append(timer)
            else:
                self.add(timer)  # system time was set back
        return ready, _FOREVER
