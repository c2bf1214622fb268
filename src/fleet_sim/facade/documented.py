"""The documented methods of a simulation; each calls the part that does the work.

Those that ask about what is in the world, or change it, are in `documented_world.py`, those of PyBullet and its
window in `documented_view.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from fleet_sim.config.params import SimulationParams
from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.core.clock import Clock
from fleet_sim.core.events import EventBus
from fleet_sim.core.plugins import SimHooks
from fleet_sim.core.profiler import Profiler
from fleet_sim.facade.control import RunControl
from fleet_sim.facade.documented_view import ViewNames
from fleet_sim.facade.documented_world import WorldNames
from fleet_sim.facade.extensions import Extensions
from fleet_sim.facade.monitor import Monitor
from fleet_sim.facade.pacing import Pacer, RunReport
from fleet_sim.facade.runner import Runner
from fleet_sim.facade.state import State
from fleet_sim.facade.state_files import StateFiles
from fleet_sim.monitor import MonitorFigures, MonitorOutput

Sim = TypeVar("Sim", bound="DocumentedNames")
Plugin = TypeVar("Plugin", bound=SimHooks[Any])


class DocumentedNames(ViewNames, WorldNames):
    """The documented methods of a simulation. A new feature is a method of its part, not a line here."""

    params: SimulationParams
    clock: Clock
    profiler: Profiler
    control: RunControl
    extensions: Extensions
    monitor: Monitor
    runner: Runner
    state: State
    state_files: StateFiles

    # ---- time and events ---------------------------------------------------------------------------------------------

    @property
    def events(self) -> EventBus:
        """Events of the whole simulation; `events.on(name, handler)` calls `handler` with the details as keywords.

        pre_step, post_step (dt, sim_time); pre_update (dt, entity), post_update (dt, entity, moved); action_started
        (agent, action), action_completed (agent, action, status); arrived, blocked, joints_settled (agent);
        collision_started, collision_ended (obj_a, obj_b); object_spawned, object_removed (obj); agent_spawned,
        agent_removed (agent); fleet_command (command); paused, resumed, reset, cleared, closed. An entity's own
        `events` leave out the entity itself.
        """
        return self.world.events

    @property
    def step_count(self) -> int:
        """Number of steps made."""
        return self.clock.tick

    @property
    def sim_time(self) -> float:
        """Simulation time in s: at the start of the current step, or the present time outside a step."""
        return self.clock.time

    # ---- running -----------------------------------------------------------------------------------------------------

    def run_simulation(
        self: Sim,
        duration: float | Callable[[Sim, float], object] | None = None,
        update_callback: Callable[[Sim, float], object] | Callable[[Sim], object] | None = None,
        final_callback: Callable[[Sim], object] | None = None,
    ) -> RunReport:
        """Run for `duration` s of simulated time (None: `params.duration`; 0: until stopped) at `params.target_rtf`.

        `update_callback(sim, dt)` is called after each step, `final_callback(sim)` at the end. Waits without using the
        processor, also while paused; commands in the inbox are applied at once while paused. May be called again to
        continue. `run_simulation(update_callback, final_callback)` is accepted too. Raises StateError if it is already
        running, and from inside a step.
        """
        return self.runner.run(duration, update_callback, final_callback)

    def stop(self) -> None:
        """End `run_simulation` after its current step; from any thread."""
        self.control.stop()

    def pause(self) -> None:
        """Pause until `resume`; from any thread. A step that has begun is finished."""
        self.control.pause()

    def resume(self) -> None:
        """Resume a paused simulation; from any thread."""
        self.control.resume()

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is paused."""
        return self.control.is_paused

    @property
    def is_running(self) -> bool:
        """Whether `run_simulation` is running, paused or not."""
        return self.control.is_running

    def single_step(self, count: int = 1) -> None:
        """Make `count` steps while paused, and return after them; from any thread.

        Raises StateError when not paused, and from inside a step.
        """
        self.runner.single_step(count)

    def between_steps(self, function: Callable[[], Any]) -> Future[Any]:
        """Call `function()` when no step is under way, in the thread that runs the simulation; from any thread.

        For calls that are not allowed inside a step, such as `sim.between_steps(sim.reset)`. Without `run_simulation`
        and outside a step it is called at once. The future holds its result or exception.
        """
        return self.control.between_steps(function)

    @property
    def pacer(self) -> Pacer:
        """The pacer of the active run, or of the last one: its late steps and their delays."""
        return self.runner.pacer

    def serve_window(self) -> bool:
        """Handle keys pressed in the window; return whether the window is open.

        SPACE pauses and resumes, "." makes one step while paused; v, c, t, o, = and - change the view.
        `run_simulation` calls it automatically; with `step_once`, call it between steps.
        """
        return self.runner.serve_window()

    # ---- save and restore --------------------------------------------------------------------------------------------

    def initialize_simulation(self) -> None:
        """Save the present state as the initial state for `reset`; done automatically at the first step."""
        self.state.remember_initial()

    def reset(self) -> None:
        """Restore the initial state: before the first step, with all its robots and their plans.

        Callbacks, plugins and event handlers are kept; random streams start again. See `clear` for an empty world.
        Raises StateError inside a step; `between_steps` calls it from there.
        """
        self.state.reset()

    restore_initial = reset

    def clear(self) -> None:
        """Remove every entity and go back to time 0, ids and random streams included, as in a new simulation.

        Callbacks, plugins, managers and event handlers of the simulation are kept.
        """
        self.state.clear()

    def save_state(self, path: str | Path | None = None, *, user_code: bool = False) -> Checkpoint:
        """Return a checkpoint of the present state for `restore_state`; with `path` it is written to that file too.

        A file is for `load_state` and `from_state`, in this process or another. It holds no code: StateFileError names
        callbacks, plugins without a state and other code of the user's own that it cannot hold; with `user_code` it is
        left out, and whoever loads the file adds it again. Raises StateError inside a step.
        """
        return self.state.save() if path is None else self.state_files.save(path, user_code_too=user_code)

    def load_state(self, path: str | Path) -> None:
        """Go on from the state in a file that a simulation of the same scenario has written, maybe in another process.

        Entities that it does not have are removed, those that are missing are spawned; callbacks, plugins and event
        handlers stay. Raises StateFileError, and then nothing has changed, and StateError inside a step.
        """
        self.state_files.load(path)

    def restore_state(self, checkpoint: Checkpoint) -> None:
        """Restore a saved state of this simulation. Entities spawned since are removed, removed ones are restored.

        Callbacks, plugins, managers and event handlers stay as they are; restored entities have those that they had.
        Raises StateError inside a step and InvalidValueError for a checkpoint of another simulation.
        """
        self.state.restore(checkpoint)

    def rebuild_engine(self) -> None:
        """Empty PyBullet's world and build it again from the columns, as at the start of a run.

        The engine's contact state is dropped, so that equal columns evolve equally, whatever happened before.
        Raises StateError inside a step.
        """
        self.state.rebuild_engine()

    def state_hash(self) -> str:
        """Return a hash of all state; it does not depend on the order of rows."""
        return self.state.hash()

    # ---- user code ---------------------------------------------------------------------------------------------------

    def register_callback(self: Sim, callback: Callable[[Sim, float], object], frequency: float | None = None) -> None:
        """Call `callback(sim, dt)` in phase 1, `frequency` times per simulated second (None: at each step).

        `dt` is the simulated time since its last call.
        """
        self.extensions.add_callback(callback, frequency)

    def unregister_callback(self, callback: Callable[..., object]) -> bool:
        """Stop calling `callback`; returns whether it was registered."""
        return self.extensions.remove_callback(callback)

    @property
    def plugins(self) -> list[SimHooks[Any]]:
        """The registered plugins."""
        return self.extensions.plugins

    def register_plugin(
        self, plugin: type[Plugin] | Plugin, config: dict[str, Any] | None = None, frequency: float | None = None
    ) -> Plugin:
        """Add a plugin (a class is made into one with `config`) and return it; raises InvalidValueError."""
        return self.extensions.add_plugin(plugin, config, frequency)

    def unregister_plugin(self, plugin: SimHooks[Any]) -> bool:
        """Shut `plugin` down and remove it; return whether it was registered."""
        return self.extensions.remove_plugin(plugin)

    def register_manager(self, manager: Any, name: str | None = None) -> str:
        """Run the callbacks of `manager` in each step; return its name. Raises DuplicateNameError."""
        return self.extensions.add_manager(manager, name)

    def unregister_manager(self, manager: Any) -> bool:
        """Remove a manager (or a name); its entities are kept. Returns whether it was registered."""
        return self.extensions.remove_manager(manager)

    def get_manager(self, name: str) -> Any:
        """Return the manager called `name`; raises UnknownNameError."""
        return self.extensions.manager(name)

    # ---- figures -----------------------------------------------------------------------------------------------------

    def setup_monitor(self, output: MonitorOutput | None = None) -> MonitorOutput | None:
        """Show figures of the run in `output` from now on, and return it.

        Without `output`, a DataMonitor window is used if `params` enable it (`monitor`, `enable_monitor_gui` and `gui`)
        and it can be opened; `run_simulation` does this automatically. Returns None if there is no output.
        """
        return self.monitor.setup(output)

    def update_monitor(self) -> None:
        """Show the present figures, if there is a monitor; `run_simulation` does this automatically."""
        self.monitor.update()

    def close_monitor(self) -> None:
        """Close the monitor."""
        self.monitor.close()

    def monitor_figures(self) -> MonitorFigures:
        """Return the present figures; rates are averages since the previous call."""
        return self.monitor.figures()

    @property
    def last_profiling(self) -> dict[str, Any]:
        """The profile of the last step; see `get_profiling_stats`."""
        return self.monitor.profile()

    def get_profiling_stats(self) -> dict[str, Any]:
        """Return the times of the last step in ms: documented keys, `systems`, `collision_breakdown`, own entries."""
        return self.monitor.profile()

    def record_profiling(self, name: str, value_ms: float) -> None:
        """Add an entry of your own to the profile."""
        self.profiler.record(name, value_ms)

    @property
    def enable_memory_profiling(self) -> bool:
        """Whether memory use is logged every `profiling_interval` steps. Can be set."""
        return self.params.enable_memory_profiling

    @enable_memory_profiling.setter
    def enable_memory_profiling(self, on: bool) -> None:
        """Log memory use from now on, or no longer."""
        self.params.enable_memory_profiling = on

    def get_memory_usage(self) -> dict[str, float]:
        """Return the process's peak memory (nan if the platform does not report it) and the columns' size, in MB."""
        return self.monitor.memory()
