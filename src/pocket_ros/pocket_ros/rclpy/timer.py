"""Timers and rates."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from threading import Event, Lock
from typing import Any

from .clock import Clock, ClockChange, TimeJump
from .context import Context
from .entity import CallbackGroup, Entity, Handled
from .exceptions import InvalidHandle, RCLError, ROSInterruptException

__all__ = ["Rate", "Timer"]


class Timer(Entity, Handled):
    """Calls back once per period of its clock; periods missed are skipped, not caught up with."""

    turn = 1

    def __init__(
        self,
        callback: Callable[..., Any] | None,
        callback_group: CallbackGroup | None,
        timer_period_ns: int,
        clock: Clock,
        *,
        context: Context | None = None,
        autostart: bool = True,
    ) -> None:
        if timer_period_ns < 0:
            raise RCLError(f"timer period must not be negative, it was {timer_period_ns} ns")
        super().__init__(callback_group)
        self.callback = callback
        self._clock = clock
        self._period = int(timer_period_ns)
        self._canceled = not autostart
        self._last = clock.now_ns()
        self.next_call = self._last + self._period
        self.on_schedule: Callable[[Timer], None] | None = None
        clock._timers.add(self)

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def timer_period_ns(self) -> int:
        return self._period

    @timer_period_ns.setter
    def timer_period_ns(self, value: int) -> None:
        self._period = int(value)
        self._scheduled()

    def is_ready(self) -> bool:
        """Whether a call is due."""
        return not self._canceled and not self._destroyed and self._clock.now_ns() >= self.next_call

    def is_canceled(self) -> bool:
        """Whether it was cancelled."""
        return self._canceled

    def cancel(self) -> None:
        """No more calls until `reset`."""
        self._canceled = True

    def reset(self) -> None:
        """The next call is one period from now."""
        self._canceled = False
        self.next_call = self._clock.now_ns() + self._period
        self._scheduled()

    def time_since_last_call(self) -> int:
        """Nanoseconds since the last call, or since the timer was made."""
        return self._clock.now_ns() - self._last

    def time_until_next_call(self) -> int | None:
        """Nanoseconds to the next call, negative when it is overdue; None when cancelled."""
        return None if self._canceled else self.next_call - self._clock.now_ns()

    def destroy(self) -> None:
        """End the timer."""
        self._destroyed = True
        self._clock._timers.discard(self)

    def take(self) -> Any | None:
        now = self._clock.now_ns()
        if self._canceled or self._destroyed or now < self.next_call:
            return None
        self._last = now
        self.next_call += self._period
        if self.next_call <= now:
            missed = (now - self.next_call) // self._period + 1 if self._period else 0
            self.next_call = self.next_call + missed * self._period if self._period else now
        return self

    def run(self, work: Any) -> Any:
        return self.callback() if self.callback is not None else None

    def clock_moved(self, jump: TimeJump) -> None:
        """The simulated time changed."""
        if jump.clock_change is not ClockChange.ROS_TIME_NO_CHANGE or jump.delta.nanoseconds < 0:
            # What was left of the period is meaningless on the other side of the jump.
            self.next_call = self._clock.now_ns() + self._period
            self._last = min(self._last, self._clock.now_ns())
        self._scheduled()

    def _scheduled(self) -> None:
        if self.on_schedule is not None:
            self.on_schedule(self)


class Rate:
    """Sleeps to keep a frequency; another thread has to spin the node."""

    def __init__(self, timer: Timer, *, context: Context) -> None:
        self._timer = timer
        self._context = context
        self._event = Event()
        self._lock = Lock()
        self._sleepers = 0
        self._destroyed = False
        timer.callback = self._event.set
        context.on_shutdown(self._on_shutdown)

    def sleep(self) -> None:
        """Sleep until the next period.

        Raises ROSInterruptException on shutdown, InvalidHandle when the timer was destroyed, RuntimeError
        when this rate was.
        """
        self._check()
        with self._lock:
            self._sleepers += 1
        try:
            self._event.wait()
        finally:
            with self._lock:
                self._sleepers -= 1
                if self._sleepers == 0:
                    self._event.clear()
        self._check()

    def destroy(self) -> None:
        """Wake all sleepers; `sleep` raises from now on."""
        self._destroyed = True
        self._event.set()

    def _on_shutdown(self) -> None:
        self.destroy()

    def _check(self) -> None:
        if not self._context.ok():
            raise ROSInterruptException()
        if self._destroyed:
            raise RuntimeError("Rate cannot sleep because it has been destroyed")
        if self._timer._destroyed:
            self.destroy()
            raise InvalidHandle("Rate cannot sleep because the timer has been destroyed")


# The timers of an executor in the order in which they are due.


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
