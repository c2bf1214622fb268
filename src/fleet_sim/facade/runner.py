"""The loop around the step: pacing, single steps, the window's keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fleet_sim.base.arrays import as_float
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.params import SimulationParams
from fleet_sim.facade.control import LONGEST_HELD, RunControl
from fleet_sim.facade.pacing import Pacer, RunReport
from fleet_sim.facade.view import Monitor, View
from fleet_sim.world.inbox import Dispatcher, Inbox
from fleet_sim.world.snapshot import SnapshotBoard
from fleet_sim.world.world import World


@dataclass(eq=False, repr=False)
class Runner:
    """Runs steps at the target pace, in the thread that calls `run`.

    `_make_step()` makes one step, paused or not. `_owner`, the simulation, is what callbacks are called with. `pacer`
    is that of the run under way, or of the last one: how many of its steps were late, and by how much.
    """

    _make_step: Callable[[], object]
    _params: SimulationParams
    _world: World
    _control: RunControl
    _inbox: Inbox
    _dispatcher: Dispatcher
    _monitor: Monitor
    _view: View
    _snapshots: SnapshotBoard
    _owner: object
    pacer: Pacer = field(init=False)
    _last_frame: float = field(default=0.0, init=False)
    """Time of the last look at the window, in s of the real clock."""
    _steps_since_frame: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.pacer = Pacer(self._world.clock.dt)

    # ---- single steps ------------------------------------------------------------------------------------------------

    def single_step(self, count: int = 1) -> None:
        """Make `count` steps while paused, and return after them; from any thread.

        Raises StateError when not paused, and from inside a step.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidValueError(f"single_step: count must be a whole number of at least 1, got {count!r}")
        if not self._control.is_paused:
            raise StateError("single_step() is for a paused simulation; call pause() first, or use step_once()")
        if self._control.runs_elsewhere:
            self._control.between_steps(lambda: self._make_steps(count)).result()
        else:
            self._make_steps(count)

    def _make_steps(self, count: int) -> None:
        for _ in range(count):
            self._make_step()

    # ---- running -----------------------------------------------------------------------------------------------------

    def run(
        self,
        duration: float | Callable[..., object] | None = None,
        update_callback: Callable[..., object] | None = None,
        final_callback: Callable[..., object] | None = None,
    ) -> RunReport:
        """Run for `duration` s of simulated time (None: as set; 0: until stopped), and say how it went.

        A function in place of `duration` is the update callback. Raises StateError where a run is under way already,
        and from inside a step.
        """
        if callable(duration):
            duration, update_callback, final_callback = None, duration, update_callback
        seconds = as_float(self._params.duration if duration is None else duration, "duration in s", low=0.0)
        self._control.begin_run()
        clock = self._world.clock
        last_tick = clock.tick + clock.ticks(seconds) if seconds > 0.0 else None
        if self._params.gui and not self._monitor.is_shown:
            self._monitor.setup()
        self.pacer = pacer = Pacer(clock.dt)
        first_tick, begin = clock.tick, time.perf_counter()
        try:
            reason = self._loop(last_tick, update_callback)
        except KeyboardInterrupt:
            reason = "interrupted"
        except SystemError as error:
            # Ctrl-C during a call of PyBullet arrives as another exception with KeyboardInterrupt as its cause.
            if not isinstance(error.__cause__, KeyboardInterrupt):
                raise
            reason = "interrupted"
        finally:
            self._control.end_run()
            if final_callback is not None:
                self._world.guard.call("final callback", final_callback, self._owner)
        steps, passed = clock.tick - first_tick, time.perf_counter() - begin
        return RunReport(steps, clock.seconds(steps), passed, reason, pacer.late_steps, pacer.worst_delay)

    def _loop(self, last_tick: int | None, update_callback: Callable[..., object] | None) -> str:
        """Step until somebody stops it, the window is closed or `last_tick` is reached; return which it was.

        Tasks and commands of other threads are carried out while it is paused, too.
        """
        control, clock, update = self._control, self._world.clock, self._world.guard.part("update callback")
        while not control.is_stopping:
            control.run_tasks()
            self._inbox.drain_between_steps(self._dispatcher)
            if last_tick is not None and clock.tick >= last_tick:
                return "duration"
            if not self._frame():
                return "window closed"
            if control.is_paused:
                self._monitor.update()
                control.rest(None, self._longest_rest())
                # Commands are applied while paused too, so that a moved robot is visible at once.
                if self._inbox.drain(self._dispatcher):
                    self._snapshots.refresh()
                # The time spent paused is not made up for.
                self.pacer.restart()
                continue
            wait = self.pacer.wait_for(clock.time, self._params.target_rtf)
            if wait > 0.0:
                # Not a plain sleep, and then from the top: it may have been woken by a stop, a pause or a command.
                control.rest(wait, self._longest_rest())
                # As while paused: with a tiny real-time factor the next step may be a year away.
                if wait > LONGEST_HELD and self._inbox.drain(self._dispatcher):
                    self._snapshots.refresh()
                continue
            self._make_step()
            self._steps_since_frame += 1
            self._monitor.update_if_due()
            if update_callback is not None:
                update.call(update_callback, self._owner, clock.dt)
        return "stopped"

    # ---- the window --------------------------------------------------------------------------------------------------

    def _longest_rest(self) -> float | None:
        """Return the maximum sleep in s between two polls of the window; None without a window."""
        return self._params.max_sleep_frames / self._params.gui_min_fps if self._params.gui else None

    def _frame(self) -> bool:
        """Serve the window when a frame is due; returns whether it is still open."""
        params = self._params
        if not params.gui:
            return True
        now = time.perf_counter()
        if now - self._last_frame < 1.0 / params.gui_min_fps and self._steps_since_frame < params.max_steps_per_frame:
            return True
        self._last_frame, self._steps_since_frame = now, 0
        return self.serve_window()

    def serve_window(self) -> bool:
        """Handle keys pressed in the window; return whether the window is open.

        SPACE pauses and resumes, "." makes one step while paused; v, c, t, o, = and - change the view.
        `run_simulation` calls it automatically; with `step_once`, call it between steps.
        """
        control = self._control
        for action in self._view.poll_keys():
            if action == "pause":
                (control.resume if control.is_paused else control.pause)()
            elif action == "single_step":
                if control.is_paused:
                    self._make_steps(1)
            else:
                self._view.apply_key(action)
        return self._view.is_open
