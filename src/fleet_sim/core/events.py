"""Named events with handlers that are called in a defined order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fleet_sim.core.faults import FaultGuard, GuardedPart
from fleet_sim.errors import InvalidValueError

Handler = Callable[..., object]


class EventBus:
    """Calls handlers of named events: low priority numbers first, in order of registration within one priority.

    A handler that fails does not keep the others from being called (see FaultGuard). Handlers added or removed while
    an event is being emitted take effect from its next emission. An event without handlers costs a dict look-up.
    """

    def __init__(self, guard: FaultGuard) -> None:
        self._guard = guard
        self._handlers: dict[str, list[tuple[int, Handler, GuardedPart]]] = {}

    def on(self, event: str, handler: Handler, priority: int = 0) -> Handler:
        """Call `handler(**details)` at each `event`; returns the handler, for `off`. Raises InvalidValueError."""
        if not callable(handler):
            raise InvalidValueError(f"handler of event {event!r}: expected a function, got {handler!r}")
        part = self._guard.part(f"handler of event {event!r}")
        handlers = [*self._handlers.get(event, ()), (priority, handler, part)]
        handlers.sort(key=lambda entry: entry[0])
        self._handlers[event] = handlers
        return handler

    def off(self, event: str, handler: Handler) -> bool:
        """Stop calling `handler` at `event`; returns whether it was registered."""
        handlers = self._handlers.get(event, [])
        # By `!=`: each access to a method makes a new bound object, equal to the old one but not the same.
        kept = [entry for entry in handlers if entry[1] != handler]
        # No empty lists, so that `has_handlers` stays a look-up.
        if kept:
            self._handlers[event] = kept
        else:
            self._handlers.pop(event, None)
        return len(kept) < len(handlers)

    def emit(self, event: str, **details: Any) -> None:
        """Call every handler of `event` with `details`."""
        for _, handler, part in self._handlers.get(event, ()):
            part.call(handler, **details)

    def clear(self, event: str | None = None) -> None:
        """Remove the handlers of `event`, or all handlers."""
        if event is None:
            self._handlers.clear()
        else:
            self._handlers.pop(event, None)

    def has_handlers(self, event: str) -> bool:
        """Return whether `event` has handlers."""
        return event in self._handlers

    def asking(self, *events: str) -> Callable[[], object]:
        """Return a function that says whether one of `events` has handlers, for who asks in every step."""
        if len(events) == 1:
            return partial(self._handlers.get, events[0])
        handlers, asked = self._handlers, frozenset(events)
        return lambda: not asked.isdisjoint(handlers)

    @property
    def handlers(self) -> list[tuple[str, Handler]]:
        """All handlers with their events."""
        return [(event, entry[1]) for event, entries in self._handlers.items() for entry in entries]

    @property
    def handled(self) -> frozenset[str]:
        """The events that have handlers."""
        return frozenset(self._handlers)

    def has_handlers_of_any(self, events: frozenset[str]) -> bool:
        """Return whether one of `events` has handlers."""
        return not events.isdisjoint(self._handlers)

    def __bool__(self) -> bool:
        return bool(self._handlers)


class EntityEvents:
    """The event buses of single entities, created when a handler is first registered."""

    def __init__(self, guard: FaultGuard) -> None:
        self._guard = guard
        self.buses: dict[int, EventBus] = {}
        """The bus of each entity with handlers, by row."""

    def bus(self, row: int) -> EventBus:
        """Return the bus of the entity in `row`."""
        bus = self.buses.get(row)
        if bus is None:
            bus = self.buses[row] = EventBus(self._guard)
        return bus

    def emit(self, row: int, event: str, **details: Any) -> None:
        """Emit `event` to the handlers registered for this entity."""
        bus = self.buses.get(row)
        if bus is not None:
            bus.emit(event, **details)

    @property
    def handlers(self) -> list[tuple[str, Handler]]:
        """All handlers with their events."""
        return [entry for bus in self.buses.values() for entry in bus.handlers]

    def listening(self, event: str) -> list[int]:
        """Return the rows with handlers of `event`, in ascending order."""
        return sorted(row for row, bus in self.buses.items() if bus.has_handlers(event))

    def save(self) -> dict[int, EventBus]:
        """Return the buses by row, for a checkpoint."""
        return dict(self.buses)

    def revive(self, rows: Iterable[int], saved: dict[int, EventBus]) -> None:
        """Restore the handlers of entities that live again; those of other entities are not changed."""
        self.buses.update((row, saved[row]) for row in rows if row in saved)

    def discard(self, row: int) -> None:
        """Delete the bus of a removed entity."""
        self.buses.pop(row, None)

    def __len__(self) -> int:
        return len(self.buses)
