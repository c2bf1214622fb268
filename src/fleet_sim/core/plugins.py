"""Plugins: user objects with hooks into the life of a simulation, or of one agent.

The bases here only define the hooks. Users derive from the classes in `plugins/` and `entities/plugins.py`,
which are in higher layers so that `self.sim` and `self.agent` have types.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Generic, TypeVar

from fleet_sim.core.clock import Clock, Schedule
from fleet_sim.core.faults import FaultGuard, GuardedPart
from fleet_sim.core.saving.forms import Form
from fleet_sim.errors import InvalidValueError, StateFileError, brief
from fleet_sim.registry import Registry, subclasses_of

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


class PluginRunner:
    """Runs the plugins of a simulation; an exception in one does not affect the others."""

    def __init__(self, clock: Clock, guard: FaultGuard) -> None:
        self._clock = clock
        self._guard = guard
        self.entries: tuple[tuple[SimHooks[Any], Schedule, GuardedPart], ...] = ()
        """The plugins with their rates; replaced where they change."""
        self._states: list[tuple[SimHooks[Any], Any]] = []

    @property
    def plugins(self) -> list[SimHooks[Any]]:
        """The registered plugins, in order."""
        return [plugin for plugin, _, _ in self.entries]

    def add(self, plugin: SimHooks[Any], frequency: float | None) -> None:
        """Register `plugin` at `frequency` Hz of simulated time (None: at each step)."""
        check_plugin(plugin, SimHooks, "SimPlugin")
        # Replaced and never changed: `step` may be iterating over the old tuple.
        self.entries = (*self.entries, (plugin, self._clock.schedule(frequency), self._guard.part("plugin on_step")))
        self._guard.call("plugin on_init", plugin.on_init)

    def remove(self, plugin: SimHooks[Any]) -> bool:
        """Shut `plugin` down and remove it; return whether it was registered."""
        kept = tuple(entry for entry in self.entries if entry[0] is not plugin)
        if len(kept) == len(self.entries):
            return False
        self.entries = kept
        self._guard.call("plugin on_shutdown", plugin.on_shutdown)
        return True

    def __bool__(self) -> bool:
        return bool(self.entries)

    def step(self) -> None:
        """Call `on_step` of the plugins that are due."""
        for plugin, schedule, part in self.entries:
            elapsed = schedule.poll()
            if elapsed is not None:
                part.call(plugin.on_step, elapsed)

    def reset(self) -> None:
        """Call `on_reset` of all plugins."""
        plugins = self.plugins
        for plugin in plugins:
            self._guard.call("plugin on_reset", plugin.on_reset)
        # After `on_reset`, which knows the beginning only.
        states, self._states = self._states, []
        for plugin, state in states:
            if plugin in plugins:
                self._guard.call("plugin take_state", plugin.take_state, deepcopy(state))

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the states of the plugins that keep one."""
        return [(plugin, deepcopy(plugin.state_of())) for plugin in self.plugins if keeps_state(plugin)]

    def restore(self, saved: Any) -> None:
        """Give plugins back what `save` returned, at the next `reset`."""
        self._states = list(saved)

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how plugins are found again: by their place and the name of their class."""
        yield Form("plugin", SimHooks, self._of_plugin, self._plugin)

    def _of_plugin(self, plugin: SimHooks[Any]) -> object:
        return self.plugins.index(plugin), type(plugin).__qualname__

    def _plugin(self, saved: tuple[int, str]) -> SimHooks[Any]:
        place, name = saved
        plugins = self.plugins
        if not 0 <= place < len(plugins) or type(plugins[place]).__qualname__ != name:
            raise StateFileError(
                f"it holds the state of the plugin {brief(name)}; register that before, in the same order"
            )
        return plugins[place]

    def shutdown(self) -> None:
        """Shut all plugins down."""
        for plugin in self.plugins:
            self.remove(plugin)
