"""What an executor waits on, kept up to date as entities come and go."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

from .context import Context
from .entity import Entity
from .timer import Timer
from .timer_schedule import TimerSchedule
from .waitable import WaitableEntity, WaitableRound

if TYPE_CHECKING:
    from ..dds.waitset import Guard, WaitSet

_GUARD_KEY = 0
_turn = attrgetter("turn")


class ExecutorWaiting:
    """The part of Executor that waits: entities by key, the DDS wait set, the timers, and what is ready."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.RLock()
        self._entities: dict[int, Entity] = {}
        self._keys = itertools.count(_GUARD_KEY + 1)
        self._ready: deque[Entity] = deque()
        self._blocked: list[Entity] = []
        self._timers = TimerSchedule()
        self._waitables: list[WaitableEntity] = []
        self._wait_set: WaitSet | None = None
        self._guard: Guard | None = None

    def wake(self) -> None:
        """End the current wait. Safe from any thread."""
        with self._lock:
            guard = self._guard
        if guard is not None:
            guard.trigger()

    def attach(self, entity: Entity) -> None:
        """Wait on an entity of a node here."""
        with self._lock:
            if entity.executor_key and self._entities.get(entity.executor_key) is entity:
                return
            entity.executor_key = next(self._keys)
            self._entities[entity.executor_key] = entity
            if isinstance(entity, Timer):
                entity.on_schedule = self._schedule_timer
                self._schedule_timer(entity)
            elif isinstance(entity, WaitableEntity):
                self._waitables.append(entity)
            elif self._wait_set is not None:
                self._wait_on(entity)

    def detach(self, entity: Entity) -> None:
        """No longer wait on it."""
        with self._lock:
            if self._entities.pop(entity.executor_key, None) is not entity:
                return
            entity.executor_key = 0
            if isinstance(entity, Timer):
                entity.on_schedule = None
            elif self._wait_set is not None:
                for condition in entity.conditions():
                    self._wait_set.detach(condition)
            if isinstance(entity, WaitableEntity):
                self._waitables.remove(entity)
            if entity in self._blocked:
                self._blocked.remove(entity)

    def _wait_on(self, entity: Entity) -> None:
        assert self._wait_set is not None
        for condition in entity.conditions():
            self._wait_set.attach(condition, entity.executor_key)

    def _ensure_wait_set(self) -> WaitSet:
        if self._wait_set is None:
            from ..dds.waitset import Guard, WaitSet

            with self._lock:
                participant = self._context.participant
                wait_set, self._guard = WaitSet(participant), Guard(participant)
                wait_set.attach(self._guard.handle, _GUARD_KEY)
                self._wait_set = wait_set
                for entity in self._entities.values():
                    if not isinstance(entity, Timer):
                        self._wait_on(entity)
        return self._wait_set

    def _close_wait_set(self) -> None:
        if self._wait_set is not None and self._guard is not None:
            self._wait_set.close()
            self._guard.close()
            self._wait_set = self._guard = None

    def _schedule_timer(self, timer: Timer) -> None:
        """The timer's next call changed."""
        if timer.clock.is_simulated:
            if timer.is_ready():
                self._ready.append(timer)
                self.wake()
        elif self._timers.add(timer):
            self.wake()

    def _wait_for(self, wait_set: WaitSet, timeout_ns: int) -> None:
        if not self._waitables:
            self._collect(wait_set.wait(timeout_ns))
            return
        waiting = WaitableRound(list(self._waitables), wait_set)
        waiting.watch(self.wake)
        self._collect(wait_set.wait(waiting.limit(timeout_ns)))
        self._ready.extend(waiting.ready())

    def _collect(self, keys: list[int]) -> None:
        found: list[Entity] = []
        for key in keys:
            if key == _GUARD_KEY:
                if self._guard is not None:
                    self._guard.reset()
                continue
            entity = self._entities.get(key)
            if entity is not None:
                found.append(entity)
        if len(found) > 1:
            found.sort(key=_turn)
        self._ready.extend(found)

    def _look_again(self) -> None:
        """Add what has become ready meanwhile, each in its turn among what was."""
        assert self._wait_set is not None
        self._wait_for(self._wait_set, 0)
        # One by one: other threads may add to it at the same time, and nothing of theirs must be lost.
        waiting = []
        while self._ready:
            waiting.append(self._ready.popleft())
        self._ready.extend(sorted(waiting, key=_turn))
