"""The names by which users know a simulation: one line each, to the part that does the work.

Those that ask about what is in the world, or change it, are in `documented_world.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from fleet_sim.bullet.camera import CameraView, Picture
from fleet_sim.config.params import CameraParams, SimulationParams
from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.core.clock import Clock
from fleet_sim.core.events import EventBus
from fleet_sim.core.plugins import SimHooks
from fleet_sim.core.profiler import Profiler
from fleet_sim.facade.control import RunControl
from fleet_sim.facade.documented_world import WorldNames
from fleet_sim.facade.extensions import Extensions
from fleet_sim.facade.monitor import Monitor
from fleet_sim.facade.pacing import Pacer, RunReport
from fleet_sim.facade.runner import Runner
from fleet_sim.facade.state import State
from fleet_sim.monitor import MonitorFigures, MonitorOutput

Sim = TypeVar("Sim", bound="DocumentedNames")
Plugin = TypeVar("Plugin", bound=SimHooks[Any])


class DocumentedNames(WorldNames):
    """The documented methods of a simulation. A new feature is a method of its part, not a line here."""

    params: SimulationParams
    clock: Clock
    profiler: Profiler
    control: RunControl
    extensions: Extensions
    monitor: Monitor
    runner: Runner
    state: State

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
        """How many steps were made."""
        return self.clock.tick

    @property
    def sim_time(self) -> float:
        """Simulation time in s: at the start of the current step, or now when outside one."""
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
        processor, also while paused; commands in the inbox are applied at once while paused. May be called again to go
        on. `run_simulation(update_callback, final_callback)` is understood too. Raises StateError where it is running
        already, and from inside a step.
        """
        return self.runner.run(duration, update_callback, final_callback)

    def stop(self) -> None:
        """End `run_simulation` after the step it is in; from any thread."""
        self.control.stop()

    def pause(self) -> None:
        """Hold steps back until `resume`; from any thread. A step that has begun is finished."""
        self.control.pause()

    def resume(self) -> None:
        """Go on; from any thread."""
        self.control.resume()

    @property
    def is_paused(self) -> bool:
        """Whether steps are held back."""
        return self.control.is_paused

    @property
    def is_running(self) -> bool:
        """Whether `run_simulation` is running, paused or not."""
        return self.control.is_running

    def single_step(self, count: int = 1) -> None:
        """Make `count` steps although paused, and return after them; from any thread.

        Raises StateError when not paused, and from inside a step.
        """
        self.runner.single_step(count)

    def between_steps(self, function: Callable[[], Any]) -> Future[Any]:
        """Call `function()` when no step is under way, in the thread that runs the simulation; from any thread.

        For what must not happen inside a step, such as `sim.between_steps(sim.reset)`. Without `run_simulation` and
        outside a step it is called at once, here. The future holds what it returned or raised.
        """
        return self.control.between_steps(function)

    @property
    def pacer(self) -> Pacer:
        """Of the run under way, or of the last one: how many of its steps were late, and by how much."""
        return self.runner.pacer

    def serve_window(self) -> bool:
        """Carry out what the keys pressed in the window mean; returns whether the window is open.

        SPACE pauses and resumes, "." makes one step while paused; v, c, t, o, = and - change what is seen.
        `run_simulation` does this by itself; whoever calls `step_once` may call it between steps.
        """
        return self.runner.serve_window()

    # ---- going back --------------------------------------------------------------------------------------------------

    def initialize_simulation(self) -> None:
        """Remember the present moment as the one `reset` goes back to; done by itself at the first step."""
        self.state.remember_initial()

    def reset(self) -> None:
        """Go back to the initial state: the moment before the first step, with all its robots and their plans.

        Callbacks, plugins and event handlers stay; random streams start anew. See `clear` for an empty world. Raises
        StateError inside a step; `between_steps` calls it from there.
        """
        self.state.reset()

    restore_initial = reset

    def clear(self) -> None:
        """Remove every entity and go back to time 0, ids and random streams included, as in a new simulation.

        Callbacks, plugins, managers and event handlers of the simulation stay.
        """
        self.state.clear()

    def save_state(self) -> Checkpoint:
        """Return the present moment, to go back to with `restore_state`: poses, motion, actions, random streams."""
        return self.state.save()

    def restore_state(self, checkpoint: Checkpoint) -> None:
        """Go back to a saved moment of this simulation. Entities spawned since are removed, removed ones live again.

        Callbacks, plugins, managers and event handlers stay as they are, except that entities that live again have
        theirs again. Raises StateError inside a step and InvalidValueError for a checkpoint of another simulation.
        """
        self.state.restore(checkpoint)

    def rebuild_engine(self) -> None:
        """Empty PyBullet's world and make it anew from the columns, as at the start of a run.

        What the engine remembers of contacts is forgotten, so that equal columns go on equally whatever came before.
        Raises StateError inside a step.
        """
        self.state.rebuild_engine()

    def state_hash(self) -> str:
        """Return a hash of all state, equal for equal runs whatever the order of rows."""
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
        """Shut `plugin` down and forget it; returns whether it was registered."""
        return self.extensions.remove_plugin(plugin)

    def register_manager(self, manager: Any, name: str | None = None) -> str:
        """Run the callbacks of `manager` with each step; returns the name it goes by. Raises DuplicateNameError."""
        return self.extensions.add_manager(manager, name)

    def unregister_manager(self, manager: Any) -> bool:
        """Forget a manager (or a name); its entities stay. Returns whether it was registered."""
        return self.extensions.remove_manager(manager)

    def get_manager(self, name: str) -> Any:
        """Return the manager called `name`; raises UnknownNameError."""
        return self.extensions.manager(name)

    # ---- PyBullet and the window -------------------------------------------------------------------------------------

    @property
    def client(self) -> int:
        """The PyBullet client id, for pybullet's own functions.

        Asking for it makes PyBullet keep up with every step from then on, since such calls cannot be seen coming.
        Prefer `sim.bullet`, which has every pybullet function and brings up to date only when one is called.
        """
        return self.view.client_id

    def setup_pybullet(self) -> int:
        """Connect to PyBullet now, opening the window in GUI mode; returns the client id, as `client` does."""
        return self.view.connect()

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before PyBullet is first needed."""
        return self.view.floor_id

    def setup_camera(self, camera_config: Mapping[str, Any] | CameraParams | None = None) -> CameraView:
        """Point the window's camera as `camera_config` says (None: `params.camera_config`) and return the view.

        The mode "auto" frames what is in the world now. Without a window the view is only returned. Raises ConfigError.
        """
        return self.view.setup_camera(camera_config)

    def take_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Picture:
        """Return a picture of the world (colours, depth in m, rows), without a window or a GPU.

        `camera_config` is as in `setup_camera`. `fleet_sim.images.write_png` saves the colours.
        """
        return self.view.take_picture(width, height, camera_config)

    def configure_visualizer(self, **settings: bool) -> None:
        """Apply the settings of the window: shadows, panels, collision shapes, see-through static bodies.

        `settings` are `enable_shadows`, `enable_gui_panel`, `enable_collision_shapes` and
        `enable_structure_transparency`; those not given are as in `params`. Raises ConfigError.
        """
        self.view.configure(**settings)

    def disable_rendering(self) -> None:
        """Stop drawing the window, for faster changes to the world; nothing without a window."""
        self.view.draw(False)

    def enable_rendering(self) -> None:
        """Draw the window again."""
        self.view.draw(True)

    # ---- figures -----------------------------------------------------------------------------------------------------

    def setup_monitor(self, output: MonitorOutput | None = None) -> MonitorOutput | None:
        """Show figures in `output` from now on, and return it.

        Without one it is a DataMonitor window, where `params` ask for it (`monitor`, `enable_monitor_gui` and `gui`)
        and it can be opened; `run_simulation` does that by itself. Returns None where there is nowhere to show figures.
        """
        return self.monitor.setup(output)

    def update_monitor(self) -> None:
        """Show the present figures, if there is a monitor; what runs by itself need not call this."""
        self.monitor.update()

    def close_monitor(self) -> None:
        """Show figures no more."""
        self.monitor.close()

    def monitor_figures(self) -> MonitorFigures:
        """Return the present figures; rates are of the time since the call before."""
        return self.monitor.figures()

    @property
    def last_profiling(self) -> dict[str, Any]:
        """The profile of the last step; see `get_profiling_stats`."""
        return self.monitor.profile()

    def get_profiling_stats(self) -> dict[str, Any]:
        """Return what the last step cost, in ms: documented keys, `systems`, `collision_breakdown`, own entries."""
        return self.monitor.profile()

    def record_profiling(self, name: str, value_ms: float) -> None:
        """Add an entry of one's own to the profile."""
        self.profiler.record(name, value_ms)

    def get_memory_usage(self) -> dict[str, float]:
        """Return the process's peak memory (nan where the platform does not tell) and the columns' size, in MB."""
        return self.monitor.memory()
