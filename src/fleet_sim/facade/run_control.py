"""Control of a run from any thread: pause, resume, stop, and calls between two steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from copy import deepcopy
from itertools import count
from math import inf
from threading import Condition, RLock, get_ident
from typing import Any, TypeVar

from fleet_sim.base.errors import DuplicateNameError, StateError, StateFileError, brief, unknown_name
from fleet_sim.base.params import SimulationParams
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.robots.actions.scheduler import ActionScheduler
from fleet_sim.robots.dispatch import FleetCommandDispatcher
from fleet_sim.robots.motion.system import AvoidanceSystem, EngineDriven, MotionSystem
from fleet_sim.sensing.collision.blocking_system import BlockingSystem
from fleet_sim.sensing.collision.system import CollisionSystem, SelfCollisions
from fleet_sim.sensing.sensors.system import SensorSystem
from fleet_sim.world.checkpoint import Checkpoints
from fleet_sim.world.clock import Clock, Schedule
from fleet_sim.world.features import Features
from fleet_sim.world.inbox import SHARE, Inbox, Turn
from fleet_sim.world.pipeline import Pipeline, Profiler
from fleet_sim.world.ports import PhysicsEngine
from fleet_sim.world.snapshot import SnapshotBoard
from fleet_sim.world.state_files import Form
from fleet_sim.world.user_code import CallbackList, FaultGuard, GuardedPart, SimHooks, check_plugin, keeps_state
from fleet_sim.world.world import World

_Task = tuple[Callable[[], Any], Future[Any]]

LONGEST_HELD = 1.0
"""Where the next step is further away than this, in s, commands do not wait for it."""


class RunControl:
    """The state of a run (running, paused, stopping), its thread, and the calls waiting for the end of a step.

    Every method may be called from any thread, except those of the run itself: `begin_run`, `run_tasks`, `rest` and
    `end_run`.
    """

    def __init__(self, world: World, inbox: Inbox) -> None:
        self._world = world
        self._inbox = inbox
        # Guards the thread and the tasks; notified whenever a sleeping run has to wake up.
        self._wake = Condition()
        self._lines: dict[str, deque[_Task]] = {}
        self.asking: Callable[[], int] = self._lines.__len__
        """Returns in how many lines calls wait for the end of a step, for who asks in every step."""
        self._runs_tasks = False
        """Whether `run_tasks` is under way in a run."""
        self._thread: int | None = None
        self._paused = False
        self._stopping = False
        self.quiet = RLock()
        """Held while a step is made, and while a call from another thread is carried out between two."""
        inbox.on_put = self.wake

    # ---- from any thread ---------------------------------------------------------------------------------------------

    @property
    def is_paused(self) -> bool:
        """Whether the simulation is paused."""
        return self._paused

    @property
    def is_running(self) -> bool:
        """Whether a run is active, paused or not."""
        return self._thread is not None

    @property
    def is_stopping(self) -> bool:
        """Whether the active run was requested to stop."""
        return self._stopping

    @property
    def runs_elsewhere(self) -> bool:
        """Whether a thread other than the caller's makes the steps."""
        return self._thread not in (None, get_ident())

    def holds_back(self, what: str) -> bool:
        """Return whether no step is to be made now, as the simulation is paused.

        Raises StateError for `what`, which would make one, while another thread makes the steps.
        """
        # `runs_elsewhere`, without asking for the thread where nobody runs; asked for each step.
        if self._thread is not None and self.runs_elsewhere:
            raise StateError(f"{what}() was called while run_simulation() runs in another thread; see single_step()")
        return self._paused

    def require_between_steps(self, what: str) -> None:
        """Raise StateError if `what` was called inside a step, or while another thread makes the steps."""
        if self.runs_elsewhere:
            raise StateError(
                f"{what}() was called while run_simulation() runs in another thread; use sim.between_steps(...) for it"
            )
        if self._world.in_step:
            raise StateError(f"{what}() was called from inside a step; use sim.between_steps(...) for it")

    def pause(self) -> None:
        """Pause until `resume`; from any thread. A step that has begun is finished."""
        if not self._paused:
            self._paused = True
            self._tell("paused")

    def resume(self) -> None:
        """Resume a paused simulation; from any thread."""
        if self._paused:
            self._paused = False
            self._tell("resumed")

    def stop(self) -> None:
        """End `run_simulation` after its current step; from any thread."""
        self._stopping = True
        self.wake()

    def between_steps(self, function: Callable[[], Any], line: str = "") -> Future[Any]:
        """Call `function()` when no step is under way, in the thread that runs the simulation; from any thread.

        For calls that are not allowed inside a step, such as `sim.between_steps(sim.reset)`. Without `run_simulation`
        and outside a step it is called at once. The future holds its result or exception. Calls of one `line` keep
        their order; lines take turns, so that many calls in one of them do not hold up those in others.
        """
        future: Future[Any] = Future()
        with self._wake:
            if self.runs_elsewhere or self._world.in_step:
                self._lines.setdefault(line, deque()).append((function, future))
                self._wake.notify_all()
                return future
        # Without that lock held: other threads need it to pause or to send commands meanwhile.
        with self.quiet:
            # Those that came at the very end of the last step, after it had looked for them.
            self.run_tasks()
            # In a run there may have been no time for all that were sent earlier.
            while task := self._next_task(line):
                _carry_out(*task)
            _carry_out(function, future)
        return future

    def waiting(self, line: str) -> int:
        """Return how many calls wait in a line."""
        with self._wake:
            return len(self._lines.get(line, ()))

    def wake(self) -> None:
        """Wake a sleeping run, so that it checks for something to do."""
        with self._wake:
            self._wake.notify_all()

    def wait_for_others(self) -> None:
        """Return once no other thread makes steps."""
        with self._wake:
            self._wake.wait_for(lambda: not self.runs_elsewhere)

    def _tell(self, event: str) -> None:
        """Emit `event` where no step can be under way in another thread, and wake the run."""
        if self.runs_elsewhere:
            self.between_steps(lambda: self._world.events.emit(event))
        else:
            self._world.events.emit(event)
            self.wake()

    # ---- the run itself ----------------------------------------------------------------------------------------------

    def begin_run(self) -> None:
        """Make the calling thread the one that makes steps; raises StateError if there is one already."""
        with self._wake:
            if self._thread is not None:
                raise StateError("run_simulation() is already running")
            self.require_between_steps("run_simulation")
            self._thread, self._stopping = get_ident(), False

    def run_tasks(self) -> None:
        """Run the calls that wait for the end of a step; in a run only as many as there is time for before the next."""
        runs = self._thread is not None
        # Calls that make steps would else call others inside of themselves.
        if runs and self._runs_tasks:
            return
        turn = Turn(SHARE if runs else inf)
        self._runs_tasks = runs
        try:
            while self._lines and turn.has_time():
                # Another thread may have taken the last one, where nobody runs.
                if task := self._next_task():
                    _carry_out(*task)
        finally:
            self._runs_tasks = False

    def _next_task(self, line: str | None = None) -> _Task | None:
        """Take out the next call of `line`, None: of the line whose turn it is; returns None where none waits."""
        with self._wake:
            chosen = next(iter(self._lines), "") if line is None else line
            waiting = self._lines.pop(chosen, None)
            if waiting is None:
                return None
            task = waiting.popleft()
            if waiting:
                # At the end, so that the next of another line comes before the next of this one.
                self._lines[chosen] = waiting
            return task

    def rest(self, seconds: float | None, limit: float | None = None) -> None:
        """Sleep for `seconds` (None: until woken), at most for `limit`; other threads can wake it."""
        bounds = [bound for bound in (seconds, limit) if bound is not None]
        with self._wake:
            # Checked with the lock held: a wake-up between the check and the sleep would be lost.
            if self._stopping or self._lines or self._inbox.is_due_between_steps:
                return
            if seconds is None and not self._paused:
                return
            if (seconds is None or seconds > LONGEST_HELD) and len(self._inbox):
                return
            self._wake.wait(min(bounds, default=None))

    def end_run(self) -> None:
        """Run the calls that other threads still wait for, then release the simulation."""
        while True:
            self.run_tasks()
            with self._wake:
                # The lock is held: no task can be added between this check and the release.
                if not self._lines:
                    self._thread = None
                    self._wake.notify_all()
                    return


def _carry_out(function: Callable[[], Any], future: Future[Any]) -> None:
    """Run `function`; its result or its exception goes to whoever waits for `future`."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except Exception as error:
        # Exceptions are reported to the caller by the future.
        future.set_exception(error)
    else:
        future.set_result(result)


# User code that runs with a simulation: callbacks, plugins, managers.


Plugin = TypeVar("Plugin", bound=SimHooks[Any])


class Extensions:
    """The callbacks, plugins and managers of a simulation. They are called with `owner`, the simulation."""

    def __init__(self, owner: Any, clock: Clock, guard: FaultGuard) -> None:
        self._owner = owner
        self._callbacks = CallbackList(clock, guard)
        self._clock, self._guard = clock, guard
        self._plugins: tuple[tuple[SimHooks[Any], Schedule, GuardedPart], ...] = ()
        # Of plugins, for the next `reset`.
        self._states: list[tuple[SimHooks[Any], Any]] = []
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
        return [plugin for plugin, _, _ in self._plugins]

    def add_plugin(
        self, plugin: type[Plugin] | Plugin, config: dict[str, Any] | None = None, frequency: float | None = None
    ) -> Plugin:
        """Add a plugin (a class is made into one with `config`) and return it; raises InvalidValueError."""
        check_plugin(plugin, SimHooks, "SimPlugin")
        made = plugin(self._owner, config) if isinstance(plugin, type) else plugin
        # Replaced and never changed: a step may be iterating over the old tuple.
        entry = (made, self._clock.schedule(frequency), self._guard.part("plugin on_step"))
        self._plugins = (*self._plugins, entry)
        self._guard.call("plugin on_init", made.on_init)
        return made

    def remove_plugin(self, plugin: SimHooks[Any]) -> bool:
        """Shut `plugin` down and remove it; return whether it was registered."""
        kept = tuple(entry for entry in self._plugins if entry[0] is not plugin)
        if len(kept) == len(self._plugins):
            return False
        self._plugins = kept
        self._guard.call("plugin on_shutdown", plugin.on_shutdown)
        return True

    @property
    def callbacks(self) -> list[Callable[..., object]]:
        """The functions added by `add_callback`."""
        return self._callbacks.functions

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
        if self._callbacks.entries or self._plugins:
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
        return self._plugins

    def run_plugins(self) -> None:
        """Call `on_step` of the plugins that are due."""
        for plugin, schedule, part in self._plugins:
            elapsed = schedule.poll()
            if elapsed is not None:
                part.call(plugin.on_step, elapsed)

    def reset(self) -> None:
        """Call `on_reset` of all plugins."""
        plugins = self.plugins
        for plugin in plugins:
            self._guard.call("plugin on_reset", plugin.on_reset)
        # After `on_reset`, which goes back to the beginning.
        states, self._states = self._states, []
        for plugin, state in states:
            if plugin in plugins:
                self._guard.call("plugin take_state", plugin.take_state, deepcopy(state))

    def shutdown(self) -> None:
        """Shut all plugins down."""
        for plugin in self.plugins:
            self.remove_plugin(plugin)

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the states of the plugins that keep one."""
        return [(plugin, deepcopy(plugin.state_of())) for plugin in self.plugins if keeps_state(plugin)]

    def restore(self, saved: Any) -> None:
        """Give plugins back what `save` returned, at the next `reset`."""
        self._states = list(saved)

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how plugins are found again: by their place and the name of their class."""
        yield Form(
            "plugin", SimHooks, lambda one: (self.plugins.index(one), type(one).__qualname__), self._plugin_saved_as
        )

    def _plugin_saved_as(self, saved: tuple[int, str]) -> SimHooks[Any]:
        place, name = saved
        plugins = self.plugins
        if not 0 <= place < len(plugins) or type(plugins[place]).__qualname__ != name:
            raise StateFileError(
                f"it holds the state of the plugin {brief(name)}; register that before, in the same order"
            )
        return plugins[place]


def _has_callbacks(manager: Any) -> bool:
    """Return whether a manager has something to run in each step."""
    return bool(getattr(manager, "has_callbacks", True))


# What the other modules of this folder see of a simulation.


class SimulationParts:
    """The parts that a simulation is built from. What works with several of them is given the simulation as this."""

    params: SimulationParams
    clock: Clock
    guard: FaultGuard
    world: World
    pipeline: Pipeline
    profiler: Profiler
    mirror: BulletMirror
    engine: PhysicsEngine
    inbox: Inbox
    dispatcher: FleetCommandDispatcher
    actions: ActionScheduler
    motion: MotionSystem
    driven: EngineDriven
    avoidance: AvoidanceSystem
    blocking: BlockingSystem
    collisions: CollisionSystem
    self_collisions: SelfCollisions
    sensors: SensorSystem
    snapshots: SnapshotBoard
    features: Features
    checkpoints: Checkpoints
    control: RunControl
    extensions: Extensions
