"""User code that runs with a simulation: callbacks, plugins, managers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from fleet_sim.core.callbacks import CallbackList
from fleet_sim.core.clock import Clock
from fleet_sim.core.faults import FaultGuard
from fleet_sim.core.plugins import PluginRunner, SimHooks, check_plugin
from fleet_sim.errors import DuplicateNameError, unknown_name

Plugin = TypeVar("Plugin", bound=SimHooks[Any])


class Extensions:
    """The callbacks, plugins and managers of a simulation. They are called with `owner`, the simulation."""

    def __init__(self, owner: Any, clock: Clock, guard: FaultGuard) -> None:
        self._owner = owner
        self._callbacks = CallbackList(clock, guard)
        self._plugins = PluginRunner(clock, guard)
        self._managers: dict[str, Any] = {}
        self._callers: dict[str, Any] = {}

    # ---- callbacks ---------------------------------------------------------------------------------------------------

    def add_callback(self, callback: Callable[..., object], frequency: float | None = None) -> None:
        """Call `callback(owner, dt)` in phase 1, `frequency` times per simulated second (None: at each step)."""
        self._callbacks.add(callback, frequency, "callback")

    def remove_callback(self, callback: Callable[..., object]) -> bool:
        """Stop calling `callback`; returns whether it was registered."""
        return self._callbacks.remove(callback)

    # ---- plugins -----------------------------------------------------------------------------------------------------

    @property
    def plugins(self) -> list[SimHooks[Any]]:
        """The registered plugins, in order."""
        return self._plugins.plugins

    def add_plugin(
        self, plugin: type[Plugin] | Plugin, config: dict[str, Any] | None = None, frequency: float | None = None
    ) -> Plugin:
        """Add a plugin (a class is made into one with `config`) and return it; raises InvalidValueError."""
        check_plugin(plugin, SimHooks, "SimPlugin")
        made = plugin(self._owner, config) if isinstance(plugin, type) else plugin
        self._plugins.add(made, frequency)
        return made

    def remove_plugin(self, plugin: SimHooks[Any]) -> bool:
        """Shut `plugin` down and forget it; returns whether it was registered."""
        return self._plugins.remove(plugin)

    @property
    def callbacks(self) -> list[Callable[..., object]]:
        """The functions added by `add_callback`."""
        return self._callbacks.functions

    @property
    def plugin_runner(self) -> PluginRunner:
        """What runs the plugins; their state is part of checkpoints."""
        return self._plugins

    # ---- managers ----------------------------------------------------------------------------------------------------

    def add_manager(self, manager: Any, name: str | None = None) -> str:
        """Run the callbacks of `manager` in each step; return its name. Raises DuplicateNameError."""
        chosen = name or next(free for index in count() if (free := f"manager_{index}") not in self._managers)
        if self._managers.get(chosen, manager) is not manager:
            raise DuplicateNameError(f"a manager named {chosen!r} is registered already")
        self._managers[chosen] = manager
        # Noted once: asking a manager that has none costs an exception in every step.
        if hasattr(manager, "run_callbacks"):
            self._callers[chosen] = manager
        return chosen

    def remove_manager(self, manager: Any) -> bool:
        """Remove a manager (or a name); its entities are kept. Returns whether it was registered."""
        for name, known in list(self._managers.items()):
            if known is manager or name == manager:
                del self._managers[name]
                self._callers.pop(name, None)
                return True
        return False

    @property
    def managers(self) -> dict[str, Any]:
        """The managers by name."""
        return dict(self._managers)

    def manager(self, name: str) -> Any:
        """Return the manager called `name`; raises UnknownNameError."""
        if name not in self._managers:
            raise unknown_name("manager", name, self._managers)
        return self._managers[name]

    def find_manager(self, name: str) -> Any:
        """Return the manager called `name`, None where there is none."""
        return self._managers.get(name)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        """Whether there is anything to run in a step."""
        if self._callbacks.entries or self._plugins.entries:
            return True
        return bool(self._callers) and any(map(_has_callbacks, self._callers.values()))

    def has_callbacks(self) -> object:
        """Return something true if there are managers or callbacks to call."""
        return self._callers or self._callbacks.entries

    def run_callbacks(self) -> None:
        """Call the managers and callbacks that are due."""
        # A copy: a callback may add or remove managers.
        for manager in list(self._callers.values()):
            if _has_callbacks(manager):
                manager.run_callbacks()
        self._callbacks.run(self._owner)

    def has_plugins(self) -> object:
        """Return something true if there are plugins to call."""
        return self._plugins.entries

    def run_plugins(self) -> None:
        """Call `on_step` of the plugins that are due."""
        self._plugins.step()

    def reset(self) -> None:
        """Call `on_reset` of all plugins."""
        self._plugins.reset()

    def shutdown(self) -> None:
        """Shut all plugins down."""
        self._plugins.shutdown()


def _has_callbacks(manager: Any) -> bool:
    """Return whether a manager has something to run in each step."""
    return bool(getattr(manager, "has_callbacks", True))
