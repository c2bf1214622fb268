"""Running a simulation: pacing, pause, single steps, work from other threads, the window's keys."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition, get_ident
from typing import Any

from fleet_sim.arrays import as_float
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.facade.monitor import MonitorFacade


@dataclass(frozen=True)
class RunReport:
    """How a run went: steps made, simulated and real seconds, and why it ended.

    `reason` is "duration", "stopped", "interrupted" or "window closed". `late_steps` were begun more than the length of
    a step behind schedule; `worst_delay` is the longest such delay, in s of real time.
    """

    steps: int
    sim_time: float
    wall_time: float
    reason: str
    late_steps: int
    worst_delay: float = 0.0

    @property
    def rtf(self) -> float:
        """Simulated seconds per real second."""
        return self.sim_time / self.wall_time if self.wall_time > 0.0 else float("inf")


class Pacer:
    """Tells how long to wait before the next step, so that simulated time keeps a given ratio to real time.

    A run that falls behind by more than `slack` s of real time takes up from there instead of racing to catch up.
    `late_steps` and `worst_delay` (s of real time) are of those more than the length of a step behind.
    """

    def __init__(self, dt: float, slack: float) -> None:
        self.late_steps = 0
        self.worst_delay = 0.0
        self._dt = dt
        self._slack = slack
        self._rtf = 0.0
        self._origin: tuple[float, float] | None = None

    def restart(self) -> None:
        """Forget the past, as after a pause."""
        self._origin = None

    def wait_for(self, sim_time: float, rtf: float) -> float:
        """Return the seconds to wait until `sim_time` is due at the real-time factor `rtf`; 0 when it is."""
        if rtf <= 0.0:
            self.restart()
            return 0.0
        now = time.perf_counter()
        if self._origin is None or rtf != self._rtf:
            self._origin, self._rtf = (now, sim_time), rtf
        wait = self._origin[0] + (sim_time - self._origin[1]) / rtf - now
        if wait < -self._dt / rtf:
            self.late_steps += 1
            self.worst_delay = max(self.worst_delay, -wait)
        if wait < -self._slack:
            self.restart()
        return max(0.0, wait)


class Runner(MonitorFacade):
    """Runs steps around `step_once`: `run_simulation`, pause and resume from any thread, single steps."""

    pacer: Pacer
    """Of the run under way, or of the last one: how many of its steps were late, and by how much."""

    def __init__(self) -> None:
        self._wake = Condition()
        self._paused = False
        self._stopping = False
        self._loop_thread = None
        self.pacer = self._make_pacer()
        self._tasks: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._last_frame = 0.0
        self._steps_since_frame = 0
        self.inbox.on_put = self._notify

    def _advance(self) -> None:
        """Make one step, paused or not; the simulation defines it."""
        raise NotImplementedError

    # ---- pausing -----------------------------------------------------------------------------------------------------

    @property
    def is_paused(self) -> bool:
        """Whether steps are held back."""
        return self._paused

    @property
    def is_running(self) -> bool:
        """Whether `run_simulation` is running, paused or not."""
        return self._loop_thread is not None

    def pause(self) -> None:
        """Hold steps back until `resume`; from any thread. A step that has begun is finished."""
        if not self._paused:
            self._paused = True
            self._tell("paused")

    def resume(self) -> None:
        """Go on; from any thread."""
        if self._paused:
            self._paused = False
            self._tell("resumed")

    def single_step(self, count: int = 1) -> None:
        """Make `count` steps although paused, and return after them; from any thread.

        Raises StateError when not paused, and from inside a step.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidValueError(f"single_step: count must be a whole number of at least 1, got {count!r}")
        if not self._paused:
            raise StateError("single_step() is for a paused simulation; call pause() first, or use step_once()")
        if self._runs_elsewhere():
            self.between_steps(lambda: self._make_steps(count)).result()
        else:
            self._make_steps(count)

    def stop(self) -> None:
        """End `run_simulation` after the step it is in; from any thread."""
        self._stopping = True
        self._notify()

    def _make_steps(self, count: int) -> None:
        for _ in range(count):
            self._advance()

    def _tell(self, event: str) -> None:
        """Emit `event` where no step can be under way in another thread, and wake the loop."""
        if self._runs_elsewhere():
            self.between_steps(lambda: self.world.events.emit(event))
        else:
            self.world.events.emit(event)
            self._notify()

    def _notify(self) -> None:
        with self._wake:
            self._wake.notify_all()

    # ---- other threads -----------------------------------------------------------------------------------------------

    def between_steps(self, function: Callable[[], Any]) -> Future[Any]:
        """Call `function()` when no step is under way, in the thread that runs the simulation; from any thread.

        For what must not happen inside a step, such as `sim.between_steps(sim.reset)`. Without `run_simulation` and
        outside a step it is called at once, here. The future holds what it returned or raised.
        """
        future: Future[Any] = Future()
        with self._wake:
            if self._runs_elsewhere() or self.world.in_step:
                self._tasks.append((function, future))
                self._wake.notify_all()
                return future
        _carry_out(function, future)
        return future

    def _run_tasks(self) -> None:
        while self._tasks:
            _carry_out(*self._tasks.popleft())

    # ---- running -----------------------------------------------------------------------------------------------------

    def run_simulation(
        self,
        duration: float | Callable[..., object] | None = None,
        update_callback: Callable[..., object] | None = None,
        final_callback: Callable[..., object] | None = None,
    ) -> RunReport:
        """Run for `duration` s of simulated time (None: `params.duration`; 0: until stopped) at `params.target_rtf`.

        `update_callback(sim, dt)` is called after each step, `final_callback(sim)` at the end. Waits without using the
        processor, also while paused; commands in the inbox are applied at once while paused. May be called again to go
        on. `run_simulation(update_callback, final_callback)` is understood too. Raises StateError where it is running
        already, and from inside a step.
        """
        if callable(duration):
            duration, update_callback, final_callback = None, duration, update_callback
        seconds = as_float(self.params.duration if duration is None else duration, "duration in s", low=0.0)
        with self._wake:
            if self._loop_thread is not None:
                raise StateError("run_simulation() is running already")
            self._require_between_steps("run_simulation")
            self._loop_thread, self._stopping = get_ident(), False
        last_tick = self.clock.tick + self.clock.ticks(seconds) if seconds > 0.0 else None
        if self.params.gui and self._monitor_output is None:
            self.setup_monitor()
        self.pacer = self._make_pacer()
        first_tick, begin = self.clock.tick, time.perf_counter()
        try:
            reason = self._loop(last_tick, update_callback)
        except KeyboardInterrupt:
            reason = "interrupted"
        except SystemError as error:
            # What Ctrl-C becomes when it comes in the middle of a call of PyBullet.
            if not isinstance(error.__cause__, KeyboardInterrupt):
                raise
            reason = "interrupted"
        finally:
            self._leave()
            if final_callback is not None:
                self.guard.call("final callback", final_callback, self)
        steps, passed = self.clock.tick - first_tick, time.perf_counter() - begin
        pacer = self.pacer
        return RunReport(steps, self.clock.seconds(steps), passed, reason, pacer.late_steps, pacer.worst_delay)

    def _make_pacer(self) -> Pacer:
        return Pacer(self.clock.dt, slack=max(0.25, 2.0 * self.clock.dt))

    def _loop(self, last_tick: int | None, update_callback: Callable[..., object] | None) -> str:
        while not self._stopping:
            self._run_tasks()
            if last_tick is not None and self.clock.tick >= last_tick:
                return "duration"
            if not self._frame():
                return "window closed"
            if self._paused:
                self.update_monitor()
                self._rest(None)
                self.inbox.drain(self.dispatcher)
                self.pacer.restart()
                continue
            wait = self.pacer.wait_for(self.clock.time, self.params.target_rtf)
            if wait > 0.0:
                self._rest(wait)
                continue
            self._advance()
            self._steps_since_frame += 1
            self._follow_run()
            if update_callback is not None:
                self.guard.call("update callback", update_callback, self, self.clock.dt)
        return "stopped"

    def _leave(self) -> None:
        """Do what other threads still wait for, then let go of the simulation."""
        while True:
            self._run_tasks()
            with self._wake:
                if not self._tasks:
                    self._loop_thread = None
                    self._wake.notify_all()
                    return

    def _rest(self, seconds: float | None) -> None:
        """Sleep for `seconds` (None: until something happens), but keep the window alive and hear other threads."""
        wait = seconds
        if self.params.gui:
            limit = self.params.max_sleep_frames * self._frame_period
            wait = limit if seconds is None else min(seconds, limit)
        with self._wake:
            if self._stopping or self._tasks or (seconds is None and (not self._paused or len(self.inbox))):
                return
            self._wake.wait(wait)

    # ---- the window --------------------------------------------------------------------------------------------------

    @property
    def _frame_period(self) -> float:
        return 1.0 / self.params.gui_min_fps

    def _frame(self) -> bool:
        """Serve the window when a frame is due; returns whether it is still open."""
        if not self.params.gui:
            return True
        now = time.perf_counter()
        if now - self._last_frame < self._frame_period and self._steps_since_frame < self.params.max_steps_per_frame:
            return True
        self._last_frame, self._steps_since_frame = now, 0
        return self.serve_window()

    def serve_window(self) -> bool:
        """Carry out what the keys pressed in the window mean; returns whether the window is open.

        SPACE pauses and resumes, "." makes one step while paused; v, c, t, o, = and - change what is seen.
        `run_simulation` does this by itself; whoever calls `step_once` may call it between steps.
        """
        for action in self._gui.poll():
            if action == "pause":
                (self.resume if self._paused else self.pause)()
            elif action == "single_step":
                if self._paused:
                    self._make_steps(1)
            else:
                self._visualizer.set_structures(self._structures())
                self._gui.apply(action)
        return self._gui.open


def _carry_out(function: Callable[[], Any], future: Future[Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except Exception as error:
        # Whoever asked for the call hears of its faults.
        future.set_exception(error)
    else:
        future.set_result(result)
