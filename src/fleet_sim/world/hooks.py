"""Python hooks of single entities: callbacks, plugins, controllers. Simple but slow: one call per entity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fleet_sim.world.clock import Clock
from fleet_sim.world.entity_index import HandleTable
from fleet_sim.world.user_code import AgentHooks, CallbackList, FaultGuard, GuardedPart


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
