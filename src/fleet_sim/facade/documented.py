"""The documented methods of a simulation; each calls the part that does the work.

Those that ask about what is in the world, or change it, are in `documented_world.py`, those of PyBullet and its
window in `documented_view.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar, overload

from fleet_sim.base.arrays import Bytes, Floats, Rows
from fleet_sim.base.errors import did_you_mean
from fleet_sim.base.monitor import MonitorFigures, MonitorOutput
from fleet_sim.base.params import CameraParams, SimulationParams, SpatialHashCellSizeMode
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.engines.bullet.window import CameraView, Picture
from fleet_sim.facade.control import Extensions, RunControl
from fleet_sim.facade.pacing import Pacer, RunReport
from fleet_sim.facade.population import Population
from fleet_sim.facade.recording import RunRecording, start_recording
from fleet_sim.facade.runner import Runner
from fleet_sim.facade.state import State, StateFiles
from fleet_sim.facade.view import CollisionQueries, Monitor, Pair, View, scene_bounds
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.sensing.collision.system import CollisionSystem
from fleet_sim.sensing.sensors.sensor import Sensor
from fleet_sim.sensing.sensors.system import SensorSystem
from fleet_sim.world.checkpoint import Checkpoint
from fleet_sim.world.clock import Clock
from fleet_sim.world.pipeline import Profiler
from fleet_sim.world.snapshot import Snapshot
from fleet_sim.world.user_code import EventBus, SimHooks
from fleet_sim.world.world import World

# The documented names of a simulation that are about PyBullet, its window, and pictures.


class ViewNames:
    """Methods about what can be seen: one line each, which calls the part that does the work."""

    view: View

    @property
    def client(self) -> int:
        """The PyBullet client id, for pybullet's own functions.

        After reading it, PyBullet is updated in every step, since direct calls cannot be intercepted. Prefer
        `sim.bullet`, which has all pybullet functions and updates PyBullet only when one is called.
        """
        return self.view.client_id

    def setup_pybullet(self) -> int:
        """Connect to PyBullet now, opening the window in GUI mode; returns the client id, as `client` does."""
        return self.view.connect()

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before the first use of PyBullet."""
        return self.view.floor_id

    def setup_camera(self, camera_config: Mapping[str, Any] | CameraParams | None = None) -> CameraView:
        """Set the window's camera to `camera_config` (None: `params.camera_config`) and return the view.

        Mode "auto" fits the present content of the world. Without a window the view is only returned. Raises
        ConfigError.
        """
        return self.view.setup_camera(camera_config)

    def take_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Picture:
        """Return an image of the world (colors, depth in m, rows); needs no window and no GPU.

        `camera_config` is as in `setup_camera`. `fleet_sim.base.files.write_png` saves the colors.
        """
        return self.view.take_picture(width, height, camera_config)

    def draw_picture(
        self, width: int = 640, height: int = 480, camera_config: Mapping[str, Any] | CameraParams | None = None
    ) -> Bytes:
        """Return a picture (height, width, 3) for people: smooth, with shadows, drawn by OpenGL where it is there.

        `camera_config` is as in `setup_camera`. `fleet_sim.base.files.write_png` saves it.
        """
        return self.view.draw_picture(width, height, camera_config)

    def configure_visualizer(self, **settings: bool) -> None:
        """Apply the settings of the window: shadows, panels, collision shapes, transparent static bodies.

        `settings` are `enable_shadows`, `enable_gui_panel`, `enable_collision_shapes` and
        `enable_structure_transparency`; those not given are as in `params`. Raises ConfigError.
        """
        self.view.configure(**settings)

    def disable_rendering(self) -> None:
        """Suspend drawing of the window, for faster changes to the world; without a window it has no effect."""
        self.view.draw(False)

    def enable_rendering(self) -> None:
        """Resume drawing of the window."""
        self.view.draw(True)


# The documented names of a simulation that are about what is in its world: entities, sensors, collisions.


_PACKAGE = __name__.partition(".")[0]


class Assignments:
    """Refuses assignments that nothing would read: slips of names, settings, and parts that other parts hold already.

    Classes that users derive may have attributes of their own.
    """

    _parts: frozenset[str] = frozenset()

    def _settle(self) -> None:
        """Everything is built; its names are taken from now on."""
        self._parts = frozenset(vars(self))

    def __setattr__(self, name: str, value: object) -> None:
        """Raises AttributeError that says what to do instead."""
        cls = type(self)
        if self._parts and not name.startswith("_") and not hasattr(cls, name):
            if name in self._parts:
                raise AttributeError(f"{name!r} is made when a simulation is built, and other parts use it: it stays")
            if name in fields_of(SimulationParams):
                raise AttributeError(f"a simulation has no attribute {name!r}; it is a setting: sim.params.{name}")
            if cls.__module__.partition(".")[0] == _PACKAGE:
                public = [key for key in dir(self) if not key.startswith("_")]
                hint = did_you_mean(name, public).partition(" Known:")[0]
                own = "Values of your own belong in variables, or in a class derived from it"
                raise AttributeError(f"a simulation has no attribute {name!r}.{hint} {own}")
        super().__setattr__(name, value)


Handle = TypeVar("Handle", bound=SimObject)


class WorldNames(Assignments):
    """Methods about what is in the world: one line each, which calls the part that does the work."""

    world: World
    collisions: CollisionSystem
    sensors: SensorSystem
    collision_queries: CollisionQueries
    population: Population
    view: View

    # ---- recordings --------------------------------------------------------------------------------------------------

    def record(self, path: str | Path, **settings: Any) -> RunRecording:
        """Record from now on until the handle's `close()`, or until the end of `with sim.record("run.mcap"):`.

        `rate=10.0` in Hz of simulated time (None: each step); `on_full="wait"`, or "drop", where writing is slower than
        the run. See docs/recordings.md. Raises InvalidValueError where nothing can be written and
        MissingDependencyError without the extra `record`.
        """
        return start_recording(self, path, settings)

    # ---- entities ----------------------------------------------------------------------------------------------------

    @property
    def sim_objects(self) -> list[SimObject]:
        """All living entities, agents included, in order of spawning."""
        return self.population.objects

    @property
    def agents(self) -> list[Agent]:
        """All living agents, in order of spawning."""
        return self.population.agents

    def get_object(self, name_or_id: str | int) -> Any:
        """Return the entity with a name or object id; raises UnknownNameError with the closest names."""
        return self.population.get(name_or_id)

    @overload
    def spawn(self, params: AgentSpawnParams) -> Agent: ...

    @overload
    def spawn(self, params: SimObjectSpawnParams) -> SimObject: ...

    @overload
    def spawn(self, params: SimObjectSpawnParams, cls: type[Handle]) -> Handle: ...

    def spawn(self, params: SimObjectSpawnParams, cls: type[SimObject] | None = None) -> SimObject:
        """Spawn one entity (an Agent from AgentSpawnParams, else a SimObject) and return its handle."""
        return self.population.spawn(params, cls)

    def spawn_all(self, params_list: Sequence[SimObjectSpawnParams]) -> list[Any]:
        """Spawn one entity per entry, in order; on any error none is spawned."""
        return self.population.spawn_all(params_list)

    def spawn_robots_from_config(self, entries: Sequence[Mapping[str, Any]]) -> list[Agent]:
        """Spawn the robots of a scenario's `robots:` list; raises ConfigError."""
        return self.population.spawn_robots(entries)

    def load_world(self, path: str | Path, skip_models: Collection[str] = ()) -> list[Any]:
        """Spawn the models of an SDF or Gazebo world file at their places, and return them in the order of the file.

        They are what `SimObject.from_sdf` makes of them; `skip_models` names those to leave out. What the file has
        besides models, such as lights and plugins, is named in one warning. With physics a gravity that is not that of
        the simulation raises InvalidValueError, and so does what cannot be read; then nothing is spawned.
        """
        return self.population.load_world(path, skip_models)

    def batch_spawn(self) -> AbstractContextManager[None]:
        """Spawn many entities with drawing of the window suspended until the end of the block."""
        return self.view.quiet()

    def add_object(self, obj: SimObject) -> None:
        """Do nothing, as entities are added when spawned. Raises InvalidValueError for one of another simulation."""
        self.population.check_ours(obj)

    def remove_object(self, obj: SimObject) -> None:
        """Remove an entity: what it carries is detached, its collisions end. Raises StaleHandleError if it is gone."""
        self.population.remove(obj)

    def remove_objects(self, objects: Iterable[SimObject]) -> None:
        """Remove many entities at once; if one was already removed, raises StaleHandleError and removes none."""
        self.population.remove_all(objects)

    def remove_rows(self, rows: Rows) -> None:
        """Remove the entities in these rows (N,) of the world's columns, as `world.rows` has them.

        Raises InvalidValueError, and removes none, where a row has no entity.
        """
        self.population.remove_rows(rows)

    def adopt_body(self, handle: SimObject, body_id: int, mass: float | None, name: str | None) -> tuple[World, int]:
        """Allocate a row for a PyBullet body created by the user; called by the constructor of SimObject."""
        return self.population.adopt_body(handle, body_id, mass, name)

    def register_static_body(self, body_id: int, name: str | None = None) -> SimObject:
        """Include a PyBullet body in collision checks as STATIC; return its handle.

        Pairs with static bodies are reported when `ignore_static_collision` is off.
        """
        return self.population.register_static_body(body_id, name)

    def get_poses(self, ids: Sequence[int]) -> tuple[Floats, Floats]:
        """Return positions (N, 3) and orientations (N, 4) by object id; raises UnknownNameError (a KeyError)."""
        return self.population.get_poses(ids)

    def set_poses(
        self, ids: Sequence[int], positions: Any, orientations: Any, *, preserve_velocity: bool = True
    ) -> None:
        """Set poses of entities, (N, 3) and (N, 4), in one write, buffered inside a step.

        Raises UnknownNameError (a KeyError) for an unknown id and InvalidValueError (a ValueError) for a wrong shape,
        a number that is not finite or a zero quaternion; the world is then not changed.
        """
        self.population.set_poses(ids, positions, orientations, preserve_velocity=preserve_velocity)

    def get_snapshot(self) -> Snapshot:
        """Return a frozen copy of the state of all entities; call it between steps."""
        return self.population.snapshot()

    # ---- sensors -----------------------------------------------------------------------------------------------------

    def add_sensor(self, spec: Any, owner: SimObject | str | None = None, **settings: Any) -> Sensor:
        """Add a sensor to the entity `owner` (a handle or a name), or fixed in the world, and return it.

        `spec` is the name of a kind with its parameters as `settings`, a mapping as in a scenario file, or the
        parameters of a kind, such as LidarParams. Raises ConfigError for an invalid spec, UnknownNameError for an
        unknown owner or link, and DuplicateNameError if its owner already has a sensor of that name.
        """
        return self.sensors.add(spec, self.get_object(owner) if isinstance(owner, str) else owner, **settings)

    def get_sensor(self, name: str) -> Sensor:
        """Return a sensor by its label: `<owner>/<name>`, or the name of one fixed in the world.

        Raises UnknownNameError.
        """
        return self.sensors.labelled(name)

    def remove_sensor(self, sensor: Sensor) -> None:
        """Remove a sensor; raises StateError if it was already removed."""
        self.sensors.remove([sensor])

    # ---- collisions --------------------------------------------------------------------------------------------------

    @property
    def collision_count(self) -> int:
        """Number of collisions that have started so far."""
        return self.collisions.count

    def get_active_collision_pairs(self) -> list[Pair]:
        """Return the pairs that collided at the last check."""
        return self.collision_queries.active_pairs()

    def check_collisions(self) -> tuple[list[Pair], dict[str, float]]:
        """Return (pairs colliding now, times in ms), whatever the check rate; events are not affected."""
        return self.collision_queries.check()

    def filter_aabb_pairs(
        self, ignore_static: bool | None = None, moved_objects: Iterable[SimObject] | None = None
    ) -> list[Pair]:
        """Return the pairs whose AABBs are within the collision margin; with `moved_objects` only theirs."""
        return self.collision_queries.near_pairs(ignore_static, moved_objects)

    def get_aabbs(self) -> dict[int, tuple[Floats, Floats]]:
        """Return (lower (3,), upper (3,)) of every entity by object id, in m."""
        return self.collision_queries.aabbs()

    def compute_scene_bounds(self) -> tuple[Floats, Floats]:
        """Return (lower (3,), upper (3,)) of all entities of finite size; zeros for an empty world."""
        return scene_bounds(self.world)

    def get_self_collisions(self, robot: SimObject | str) -> list[tuple[str, str]]:
        """Return the pairs of links, by name, of a robot with `self_collision` that touched at the last check.

        Raises StateError for a robot without it.
        """
        return self.collision_queries.touching_links(robot)

    def set_collision_pair(self, first: SimObject | str, second: SimObject | str, enabled: bool | None) -> None:
        """Let two entities never collide (False), or do so whatever their groups and masks (True); None: as those say.

        Events, blocking, avoidance and the engine follow it. It ends with one of the two, is saved in checkpoints,
        goes back with `reset`, and stays when the engine is rebuilt. True cannot make static, disabled or carried
        entities collide. Raises InvalidValueError, and UnknownNameError for a name.
        """
        self.collision_queries.set_pair(first, second, enabled)

    def set_collision_check_frequency(self, frequency: float | None) -> None:
        """Check `frequency` times per simulated second; None: in each step, 0: never."""
        self.collision_queries.set_frequency(frequency)

    def set_collision_spatial_hash_cell_size_mode(
        self, mode: SpatialHashCellSizeMode | str, cell_size: float | None = None
    ) -> float | None:
        """Set how the grid's cell size is chosen; return it in m, None until an automatic mode's first check.

        `cell_size` in m is that of the mode constant; automatic modes compute theirs. Results do not depend on it, only
        the time of a check does. Raises InvalidValueError for an unknown mode, and for constant without a size above 0.
        `params` keep what the simulation began with.
        """
        return self.collisions.broad.set_cell_size_mode(mode, cell_size)


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
