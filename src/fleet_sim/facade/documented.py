"""The documented methods of a simulation; each calls the part that does the work.

`via` makes those that only pass on what they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import did_you_mean
from fleet_sim.base.params import SimulationParams, SpatialHashCellSizeMode
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.facade.population import Population
from fleet_sim.facade.recording import RunRecording, start_recording
from fleet_sim.facade.run_control import Extensions, RunControl, SimulationParts
from fleet_sim.facade.runner import Pacer, Runner, RunReport
from fleet_sim.facade.state import State
from fleet_sim.facade.view import CollisionQueries, Monitor, View, scene_bounds
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.sensing.sensors.sensor import Sensor
from fleet_sim.world.checkpoint import Checkpoint
from fleet_sim.world.pipeline import Profiler
from fleet_sim.world.user_code import EventBus, SimHooks
from fleet_sim.world.world import World

Sim = TypeVar("Sim", bound="DocumentedNames")
Plugin = TypeVar("Plugin", bound=SimHooks[Any])
Handle = TypeVar("Handle", bound=SimObject)
Given = ParamSpec("Given")
Result = TypeVar("Result")

_PACKAGE = __name__.partition(".")[0]


def via(part: str, method: Callable[Concatenate[Any, Given], Result]) -> Callable[Concatenate[Any, Given], Result]:
    """Return a method that calls `method` of the `part` of a simulation, with the same parameters and description."""
    name = method.__name__

    @wraps(method)
    def call(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        made: Result = getattr(getattr(self, part), name)(*args, **kwargs)
        return made

    return call


class DocumentedNames(SimulationParts):
    """The documented methods of a simulation. A new feature is a method of its part, not a line here.

    Assignments that nothing would read are refused: slips of names, settings, and parts that other parts hold already.
    Classes that users derive may have attributes of their own.
    """

    monitor: Monitor
    runner: Runner
    state: State
    collision_queries: CollisionQueries
    population: Population
    view: View

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

    stop = via("control", RunControl.stop)
    pause = via("control", RunControl.pause)
    resume = via("control", RunControl.resume)

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is paused."""
        return self.control.is_paused

    @property
    def is_running(self) -> bool:
        """Whether `run_simulation` is running, paused or not."""
        return self.control.is_running

    single_step = via("runner", Runner.single_step)
    between_steps = via("control", RunControl.between_steps)

    @property
    def pacer(self) -> Pacer:
        """The pacer of the active run, or of the last one: its late steps and their delays."""
        return self.runner.pacer

    serve_window = via("runner", Runner.serve_window)

    # ---- save and restore --------------------------------------------------------------------------------------------

    initialize_simulation = via("state", State.remember_initial)
    reset = via("state", State.reset)

    restore_initial = reset

    clear = via("state", State.clear)

    def save_state(self, path: str | Path | None = None, *, user_code: bool = False) -> Checkpoint:
        """Return a checkpoint of the present state for `restore_state`; with `path` it is written to that file too.

        A file is for `load_state` and `from_state`, in this process or another. It holds no code: StateFileError names
        callbacks, plugins without a state and other code of the user's own that it cannot hold; with `user_code` it is
        left out, and whoever loads the file adds it again. Raises StateError inside a step.
        """
        return self.state.save() if path is None else self.state.write(path, user_code_too=user_code)

    load_state = via("state", State.load)
    restore_state = via("state", State.restore)
    rebuild_engine = via("state", State.rebuild_engine)
    state_hash = via("state", State.hash)

    # ---- user code ---------------------------------------------------------------------------------------------------

    def register_callback(self: Sim, callback: Callable[[Sim, float], object], frequency: float | None = None) -> None:
        """Call `callback(sim, dt)` in phase 1, `frequency` times per simulated second (None: at each step).

        `dt` is the simulated time since its last call.
        """
        self.extensions.add_callback(callback, frequency)

    unregister_callback = via("extensions", Extensions.remove_callback)

    @property
    def plugins(self) -> list[SimHooks[Any]]:
        """The registered plugins."""
        return self.extensions.plugins

    def register_plugin(
        self, plugin: type[Plugin] | Plugin, config: dict[str, Any] | None = None, frequency: float | None = None
    ) -> Plugin:
        """Add a plugin (a class is made into one with `config`) and return it; raises InvalidValueError."""
        return self.extensions.add_plugin(plugin, config, frequency)

    unregister_plugin = via("extensions", Extensions.remove_plugin)
    register_manager = via("extensions", Extensions.add_manager)
    unregister_manager = via("extensions", Extensions.remove_manager)
    get_manager = via("extensions", Extensions.manager)

    # ---- figures -----------------------------------------------------------------------------------------------------

    setup_monitor = via("monitor", Monitor.setup)
    update_monitor = via("monitor", Monitor.update)
    close_monitor = via("monitor", Monitor.close)
    monitor_figures = via("monitor", Monitor.figures)

    @property
    def last_profiling(self) -> dict[str, Any]:
        """The profile of the last step; see `get_profiling_stats`."""
        return self.monitor.profile()

    get_profiling_stats = via("monitor", Monitor.profile)
    record_profiling = via("profiler", Profiler.record)

    @property
    def enable_memory_profiling(self) -> bool:
        """Whether memory use is logged every `profiling_interval` steps. Can be set."""
        return self.params.enable_memory_profiling

    @enable_memory_profiling.setter
    def enable_memory_profiling(self, on: bool) -> None:
        """Log memory use from now on, or no longer."""
        self.params.enable_memory_profiling = on

    get_memory_usage = via("monitor", Monitor.memory)

    # ---- what is seen ------------------------------------------------------------------------------------------------

    @property
    def client(self) -> int:
        """The PyBullet client id, for pybullet's own functions.

        After reading it, PyBullet is updated in every step, since direct calls cannot be intercepted. Prefer
        `sim.bullet`, which has all pybullet functions and updates PyBullet only when one is called.
        """
        return self.view.client_id

    setup_pybullet = via("view", View.connect)

    @property
    def floor_id(self) -> int:
        """The PyBullet body of the floor; -1 without a floor, or before the first use of PyBullet."""
        return self.view.floor_id

    setup_camera = via("view", View.setup_camera)
    draw_picture = via("view", View.draw_picture)
    configure_visualizer = via("view", View.configure)

    def disable_rendering(self) -> None:
        """Suspend drawing of the window, for faster changes to the world; without a window it has no effect."""
        self.view.draw(False)

    def enable_rendering(self) -> None:
        """Resume drawing of the window."""
        self.view.draw(True)

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

    get_object = via("population", Population.get)

    @overload
    def spawn(self, params: AgentSpawnParams) -> Agent: ...

    @overload
    def spawn(self, params: SimObjectSpawnParams) -> SimObject: ...

    @overload
    def spawn(self, params: SimObjectSpawnParams, cls: type[Handle]) -> Handle: ...

    def spawn(self, params: SimObjectSpawnParams, cls: type[SimObject] | None = None) -> SimObject:
        """Spawn one entity (an Agent from AgentSpawnParams, else a SimObject) and return its handle."""
        return self.population.spawn(params, cls)

    spawn_all = via("population", Population.spawn_all)
    spawn_robots_from_config = via("population", Population.spawn_robots)
    load_world = via("population", Population.load_world)
    batch_spawn = via("view", View.quiet)
    add_object = via("population", Population.check_ours)
    remove_object = via("population", Population.remove)
    remove_objects = via("population", Population.remove_all)
    remove_rows = via("population", Population.remove_rows)

    def adopt_body(self, handle: SimObject, body_id: int, mass: float | None, name: str | None) -> tuple[World, int]:
        """Allocate a row for a PyBullet body created by the user; called by the constructor of SimObject."""
        return self.population.adopt_body(handle, body_id, mass, name)

    register_static_body = via("population", Population.register_static_body)
    get_poses = via("population", Population.get_poses)
    set_poses = via("population", Population.set_poses)
    get_snapshot = via("population", Population.snapshot)

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

    get_active_collision_pairs = via("collision_queries", CollisionQueries.active_pairs)
    check_collisions = via("collision_queries", CollisionQueries.check)
    filter_aabb_pairs = via("collision_queries", CollisionQueries.near_pairs)
    get_aabbs = via("collision_queries", CollisionQueries.aabbs)

    def compute_scene_bounds(self) -> tuple[Floats, Floats]:
        """Return (lower (3,), upper (3,)) of all entities of finite size; zeros for an empty world."""
        return scene_bounds(self.world)

    get_self_collisions = via("collision_queries", CollisionQueries.touching_links)
    set_collision_pair = via("collision_queries", CollisionQueries.set_pair)
    set_collision_check_frequency = via("collision_queries", CollisionQueries.set_frequency)

    def set_collision_spatial_hash_cell_size_mode(
        self, mode: SpatialHashCellSizeMode | str, cell_size: float | None = None
    ) -> float | None:
        """Set how the grid's cell size is chosen; return it in m, None until an automatic mode's first check.

        `cell_size` in m is that of the mode constant; automatic modes compute theirs. Results do not depend on it, only
        the time of a check does. Raises InvalidValueError for an unknown mode, and for constant without a size above 0.
        `params` keep what the simulation began with.
        """
        return self.collisions.broad.set_cell_size_mode(mode, cell_size)

    # ---- assignments -------------------------------------------------------------------------------------------------

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
