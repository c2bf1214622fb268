"""Code of users in a run: callbacks, plugins, events, hooks of single entities; and the isolation of their faults."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Set
from functools import partial
from typing import Any, Generic, TypeVar

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.world.clock import Clock, Schedule
from fleet_sim.world.entity_index import HandleTable

log = logging.getLogger("fleet_sim")

Result = TypeVar("Result")

MAX_FAILURES = 100
"""In a row, after which a part is called no more, where a simulation sets nothing else."""


class FaultGuard:
    """Calls user code so that its exceptions do not stop the simulation.

    The first fault of each function is logged with its traceback, however many entities it is called for; all are
    counted in `counts` by description. With `raise_on_fault` the exception is counted and re-raised.

    Code that is called again and again is a `part`: it is switched off after `max_failures` faults in a row (0: never),
    until the simulation is reset. `switched_off` counts these parts by description.
    """

    def __init__(self, *, raise_on_fault: bool = False, max_failures: int = MAX_FAILURES) -> None:
        self.raise_on_fault = raise_on_fault
        self.max_failures = max_failures
        self.counts: Counter[str] = Counter()
        self.switched_off: Counter[str] = Counter()
        self.age = 0
        """How often `revive` was called."""
        self._logged: set[tuple[str, object]] = set()

    @property
    def total(self) -> int:
        """Total number of faults."""
        return sum(self.counts.values())

    def note(self, what: str, message: str) -> None:
        """Count a fault that raised nothing; the first one of `what` is logged. With `raise_on_fault`, raise it."""
        self.counts[what] += 1
        if self.raise_on_fault:
            raise StateError(f"{what}: {message}")
        if self.counts[what] == 1:
            log.error("%s: %s; it is counted and not reported again", what, message)

    def call(self, what: str, function: Callable[..., Result], *args: object, **kwargs: object) -> Result | None:
        """Return `function(*args, **kwargs)`, or None if it raised an exception."""
        try:
            return function(*args, **kwargs)
        except Exception:
            self.note_failure(what, function)
            return None

    def note_failure(self, what: str, function: Callable[..., object]) -> None:
        """Count the exception that is being handled; with `raise_on_fault` raise it again, else log the first one."""
        name, code = _identity(function)
        label = f"{what} ({name})"
        self.counts[label] += 1
        if self.raise_on_fault:
            raise
        # By code as well: all lambdas share one name.
        if (label, code) not in self._logged:
            self._logged.add((label, code))
            log.exception("fault in %s; it is counted and not reported again", label)

    def part(self, what: str) -> GuardedPart:
        """Return a new part: it stands for one piece of code that is called again and again."""
        return GuardedPart(self, what)

    def part_of(self, saved: tuple[str, int]) -> GuardedPart:
        """Return a part like the one that `GuardedPart.state_of` returned `saved` of."""
        part = self.part(str(saved[0]))
        # As if it had failed so often just now.
        part.fail(int(saved[1]))
        return part

    def switch_off(self, what: str, function: Callable[..., object]) -> None:
        """Count a part that is called no more; the first one of its description is logged."""
        label = f"{what} ({_identity(function)[0]})"
        self.switched_off[label] += 1
        # Many parts may share a description, such as one controller of a thousand robots.
        if self.switched_off[label] == 1:
            log.error(
                "%s failed %d times in a row (max_failures) and is switched off until a reset", label, self.max_failures
            )

    def revive(self) -> None:
        """Switch all parts on again, as after a reset."""
        # Parts compare it with their own: those that failed before are on again.
        self.age += 1
        self.switched_off.clear()


class GuardedPart:
    """One piece of user code. A success resets its count of faults."""

    __slots__ = ("_age", "_failures", "_guard", "_what")

    def __init__(self, guard: FaultGuard, what: str) -> None:
        self._guard = guard
        self._what = what
        self._failures = 0
        self._age = guard.age

    @property
    def is_off(self) -> bool:
        """Whether the part failed too often."""
        # 0 means never; faults of before a reset do not count.
        return 0 < self._guard.max_failures <= self._failures and self._age == self._guard.age

    def state_of(self) -> tuple[str, int]:
        """Return what it stands for, and how often it failed in a row."""
        return self._what, self._failures if self._age == self._guard.age else 0

    def fail(self, times: int) -> None:
        """Count as having failed `times` times in a row."""
        self._failures, self._age = times, self._guard.age

    def call(self, function: Callable[..., Result], *args: object, **kwargs: object) -> Result | None:
        """Return `function(*args, **kwargs)`, or None if it raised an exception or the part is off."""
        # Asked only after a fault, so that code that works costs nothing.
        if self._failures and self.is_off:
            return None
        guard = self._guard
        try:
            result = function(*args, **kwargs)
        except Exception:
            guard.note_failure(self._what, function)
        else:
            self._failures = 0
            return result
        # Faults from before a reset do not count: the part was switched on again.
        self._failures = self._failures + 1 if self._age == guard.age else 1
        self._age = guard.age
        if self.is_off:
            guard.switch_off(self._what, function)
        return None


def _identity(function: Callable[..., object]) -> tuple[str, object]:
    """Return the name of `function`, and its code, which is the same for all instances of a method or closure."""
    # Parts of the package wrap what users give; the name in the log is to be the users' own.
    while isinstance(function, partial):
        function = function.func
    plain = getattr(function, "__func__", function)
    if not hasattr(plain, "__qualname__"):
        plain = type(plain)
    return plain.__qualname__, getattr(plain, "__code__", None)


# User callbacks, each with its own rate.


class CallbackList:
    """Functions called as `function(owner, dt)`, `dt` being the seconds since that function's last call.

    The list may be changed while it runs: changes take effect in the next step.
    """

    def __init__(self, clock: Clock, guard: FaultGuard) -> None:
        self._clock = clock
        self._guard = guard
        self.entries: tuple[tuple[Callable[..., object], Schedule, GuardedPart], ...] = ()
        """The functions with their rates; replaced where they change."""

    def add(self, function: Callable[..., object], frequency: float | None, what: str) -> None:
        """Call `function` `frequency` times per simulated second (None: at each step); raises InvalidValueError."""
        if not callable(function):
            raise InvalidValueError(f"{what}: expected a function, got {function!r}")
        self.entries = (*self.entries, (function, self._clock.schedule(frequency), self._guard.part(what)))

    def remove(self, function: Callable[..., object]) -> bool:
        """Stop calling `function`; returns whether it was in the list."""
        # By `!=`, as bound methods are made anew at each access.
        kept = tuple(entry for entry in self.entries if entry[0] != function)
        removed = len(kept) < len(self.entries)
        self.entries = kept
        return removed

    def run(self, owner: object) -> None:
        """Call the functions that are due in this step."""
        for function, schedule, part in self.entries:
            elapsed = schedule.poll()
            if elapsed is not None:
                part.call(function, owner, elapsed)

    @property
    def functions(self) -> list[Callable[..., object]]:
        """The functions, in order."""
        return [entry[0] for entry in self.entries]

    def __len__(self) -> int:
        return len(self.entries)


# Plugins: user objects with hooks into the life of a simulation, or of one agent. The bases here only define the
# hooks. Users derive from the classes in `/` and `robots/agent.py`, which are in higher layers so that
# `self.sim` and `self.agent` have types.


Owner = TypeVar("Owner")


class Hooks:
    """What plugins of a simulation and of an agent have in common."""

    def __init__(self, config: dict[str, Any] | None) -> None:
        self.config = dict(config or {})

    def on_init(self) -> None:
        """Called when the plugin is added; also when a checkpoint restores the removed agent of the plugin."""

    def on_reset(self) -> None:
        """Called after the simulation was reset to its initial state; a plugin of a simulation also after `clear`."""


class SimHooks(Hooks, Generic[Owner]):
    """The hooks that the simulation calls on a plugin. Users derive from SimPlugin, which has the type of `sim`."""

    def __init__(self, sim: Owner, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.sim = sim

    def on_step(self, dt: float) -> None:
        """Called at the plugin's rate; `dt` is the simulated time since the last call."""

    def on_shutdown(self) -> None:
        """Called once, when the simulation is closed or the plugin removed."""

    def state_of(self) -> Any:
        """Return what the plugin remembers, as numbers, texts, arrays and containers of them, for saved states.

        A plugin that overrides this and `take_state` is part of checkpoints and of state files.
        """

    def take_state(self, state: Any) -> None:
        """Go back to what `state_of` returned, maybe in another process; called after `on_reset`."""


class AgentHooks(Hooks, Generic[Owner]):
    """The hooks that the simulation calls on a plugin of one agent. Users derive from AgentPlugin."""

    def __init__(self, agent: Owner, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.agent = agent

    def on_update(self, dt: float) -> None:
        """Called at each step, in phase 1."""

    def on_destroy(self) -> None:
        """Called when the agent or the plugin is removed."""


SIM_PLUGINS: Registry[type[SimHooks[Any]]] = Registry("plugin", subclasses_of(SimHooks), group="fleet_sim.plugin")
"""Plugins of a simulation that a scenario may name."""

AGENT_PLUGINS: Registry[type[AgentHooks[Any]]] = Registry(
    "agent plugin", subclasses_of(AgentHooks), group="fleet_sim.agent_plugin"
)
"""Plugins of one agent that a spawn entry may name."""


def keeps_state(plugin: SimHooks[Any]) -> bool:
    """Return whether a plugin is part of saved states."""
    return type(plugin).state_of is not SimHooks.state_of and type(plugin).take_state is not SimHooks.take_state


def check_plugin(plugin: object, base: type[object], name: str) -> None:
    """Raise InvalidValueError unless `plugin` is an instance or a subclass of `base`; `name` is its public name."""
    if not isinstance(plugin, base) and not (isinstance(plugin, type) and issubclass(plugin, base)):
        raise InvalidValueError(f"expected a plugin that derives from {name}, got {plugin!r}")


# Named events with handlers that are called in a defined order.


Handler = Callable[..., object]


class EventBus:
    """Calls handlers of named events: low priority numbers first, in order of registration within one priority.

    A handler that fails does not keep the others from being called (see FaultGuard). Handlers added or removed while
    an event is being emitted take effect from its next emission. An event without handlers costs a dict look-up.
    """

    def __init__(self, guard: FaultGuard) -> None:
        self._guard = guard
        self._handlers: dict[str, list[tuple[int, Handler, GuardedPart, bool]]] = {}
        """The handlers of each event, by priority, and whether they may act."""

    def note(self, event: str, handler: Handler) -> None:
        """Call a `handler` that only writes down what happened: a step of several ticks does not end for it."""
        self._add(event, handler, 0, acts=False)

    def on(self, event: str, handler: Handler, priority: int = 0) -> Handler:
        """Call `handler(**details)` at each `event`; returns the handler, for `off`. Raises InvalidValueError."""
        return self._add(event, handler, priority, acts=True)

    def _add(self, event: str, handler: Handler, priority: int, *, acts: bool) -> Handler:
        if not callable(handler):
            raise InvalidValueError(f"handler of event {event!r}: expected a function, got {handler!r}")
        part = self._guard.part(f"handler of event {event!r}")
        handlers = [*self._handlers.get(event, ()), (priority, handler, part, acts)]
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
        for _, handler, part, _ in self._handlers.get(event, ()):
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

    def may_act(self, *events: str) -> bool:
        """Return whether one of `events` has handlers that may do anything."""
        # In a loop: asked in every step, and most often there are none.
        for event in events:
            for entry in self._handlers.get(event, ()):
                if entry[3]:
                    return True
        return False

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
    def handled(self) -> Set[str]:
        """The events that have handlers."""
        return self._handlers.keys()

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


class EntityHooks:
    """Hooks of single entities, run in phase 1. An entity without hooks costs nothing.

    Hooks run in ascending order of rows; hooks added or removed meanwhile take effect in the next step.
    """

    def __init__(self, clock: Clock, guard: FaultGuard) -> None:
        self._clock = clock
        self._guard = guard
        self._callbacks: dict[int, CallbackList] = {}
        self._plugins: dict[int, list[tuple[AgentHooks[Any], GuardedPart]]] = {}
        self._controllers: dict[int, list[tuple[Any, GuardedPart]]] = {}
        self._updates: dict[int, tuple[Callable[[float], object], GuardedPart]] = {}
        self.books: tuple[dict[int, Any], ...] = (self._callbacks, self._plugins, self._controllers, self._updates)
        """All that is registered, by kind and row, for who asks in every step whether there is anything."""
        self.asking_controllers: Callable[[], int] = self._controllers.__len__
        """Returns how many entities have Python controllers, for who asks in every step."""

    # ---- registering -------------------------------------------------------------------------------------------------

    def add_callback(self, row: int, function: Callable[..., object], frequency: float | None) -> None:
        """Call `function(entity, dt)` at `frequency` Hz."""
        callbacks = self._callbacks.get(row)
        if callbacks is None:
            callbacks = self._callbacks[row] = CallbackList(self._clock, self._guard)
        callbacks.add(function, frequency, "entity callback")

    def remove_callback(self, row: int, function: Callable[..., object]) -> bool:
        """Stop calling `function`; returns whether it was registered."""
        callbacks = self._callbacks.get(row)
        if callbacks is None:
            return False
        removed = callbacks.remove(function)
        if not len(callbacks):
            del self._callbacks[row]
        return removed

    def add_plugin(self, row: int, plugin: AgentHooks[Any]) -> None:
        """Call the plugin's `on_update` at each step."""
        # A new list: the step may be iterating over the old one.
        self._plugins[row] = [*self._plugins.get(row, ()), (plugin, self._guard.part("agent plugin on_update"))]
        self._guard.call("agent plugin on_init", plugin.on_init)

    def remove_plugin(self, row: int, plugin: AgentHooks[Any]) -> bool:
        """Remove and destroy `plugin`; return whether it was registered."""
        plugins = self._plugins.get(row, [])
        kept = [known for known in plugins if known[0] is not plugin]
        if len(kept) == len(plugins):
            return False
        if kept:
            self._plugins[row] = kept
        else:
            del self._plugins[row]
        self._guard.call("agent plugin on_destroy", plugin.on_destroy)
        return True

    def plugins(self, row: int) -> list[AgentHooks[Any]]:
        """Return the plugins of the entity."""
        return [plugin for plugin, _ in self._plugins.get(row, ())]

    def set_controllers(self, row: int, controllers: list[Any]) -> None:
        """Call `compute(agent, dt)` of each in each step, before the motion laws; the first of the list comes last."""
        if controllers:
            self._controllers[row] = [(controller, self._guard.part("controller")) for controller in controllers]
        else:
            self._controllers.pop(row, None)

    def controllers(self, row: int) -> list[Any]:
        """Return the controllers of the entity."""
        return [controller for controller, _ in self._controllers.get(row, ())]

    def set_update(self, row: int, function: Callable[[float], object]) -> None:
        """Call `function(dt)` at each step: the overridden `update` of a user's subclass."""
        self._updates[row] = function, self._guard.part("entity update")

    def discard(self, row: int) -> None:
        """Remove all hooks of a removed entity; its plugins are destroyed."""
        # Taken out first: an `on_destroy` that removes the entity again must not be called twice.
        for plugin, _ in self._plugins.pop(row, ()):
            self._guard.call("agent plugin on_destroy", plugin.on_destroy)
        self._callbacks.pop(row, None)
        self._controllers.pop(row, None)
        self._updates.pop(row, None)

    def __bool__(self) -> bool:
        return any(self.books)

    # ---- running -----------------------------------------------------------------------------------------------------

    def run_controllers(self, handles: HandleTable, dt: float) -> None:
        """Run the Python controllers."""
        # Sorted: after a checkpoint the dict may have the rows in another order than in the run that saved it.
        for row in sorted(self._controllers):
            agent = handles[row]
            # Removed by the code of an earlier row.
            if agent is None:
                continue
            for controller, part in reversed(self._controllers.get(row, ())):
                part.call(controller.compute, agent, dt)

    def run_callbacks(self, handles: HandleTable, dt: float) -> None:
        """Run overridden updates, plugins and callbacks."""
        if not self:
            return
        for row in sorted({*self._updates, *self._plugins, *self._callbacks}):
            entity = handles[row]
            # Removed by the code of an earlier row.
            if entity is None:
                continue
            update = self._updates.get(row)
            if update is not None:
                update[1].call(update[0], dt)
            for plugin, part in self._plugins.get(row, ()):
                part.call(plugin.on_update, dt)
            callbacks = self._callbacks.get(row)
            if callbacks is not None:
                callbacks.run(entity)

    def save(self) -> dict[str, Any]:
        """Return the hooks of all entities, for a checkpoint."""
        return {
            "books": [dict(book) for book in self.books],
            "states": [(c, c.save()) for known in self._controllers.values() for c, _ in known if _has_state(c)],
        }

    def revive(self, rows: Iterable[int], saved: dict[str, Any]) -> None:
        """Restore the hooks of entities that live again, and the state of all controllers, from `save`."""
        rows = list(rows)
        for book, known in zip(self.books, saved["books"], strict=True):
            book.update((row, known[row]) for row in rows if row in known)
        for row in rows:
            for plugin, _ in self._plugins.get(row, ()):
                self._guard.call("agent plugin on_init", plugin.on_init)
        for controller, state in saved["states"]:
            controller.restore(state)

    @property
    def code(self) -> list[tuple[str, Any]]:
        """All functions and plugins of entities, each with what it is; controllers are found by name."""
        functions = [("callback", function) for known in self._callbacks.values() for function in known.functions]
        plugins = [("agent plugin", type(plugin)) for known in self._plugins.values() for plugin, _ in known]
        return [*functions, *plugins, *(("update", function) for function, _ in self._updates.values())]

    def put_controllers(self, rows: Iterable[int], saved: dict[str, Any]) -> None:
        """Give the entities in `rows` the controllers that they have in `saved`, of `save`, and no others."""
        known = saved["books"][_CONTROLLERS]
        for row in rows:
            if row in known:
                self._controllers[row] = known[row]
            else:
                self._controllers.pop(row, None)

    def reset(self) -> None:
        """Call `on_reset` of all plugins."""
        for plugins in list(self._plugins.values()):
            for plugin, _ in plugins:
                self._guard.call("agent plugin on_reset", plugin.on_reset)


_CONTROLLERS = 2
"""Their place among the books."""


def _has_state(controller: Any) -> bool:
    """Return whether a controller takes part in checkpoints."""
    return hasattr(controller, "save") and hasattr(controller, "restore")
