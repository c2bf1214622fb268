"""The loop around the step: pacing, single steps, the window's keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

from fleet_sim.base.arrays import as_float
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.facade.run_control import LONGEST_HELD, SimulationParts
from fleet_sim.facade.view import Monitor, View
from fleet_sim.world.inbox import SHARE, Turn
from fleet_sim.world.pipeline import ANY

LONGEST_WAIT = 3600.0
"""At once, in s."""


@dataclass(frozen=True)
class RunReport:
    """Report of a run: steps made, simulated and real seconds, and why it ended.

    `reason` is "duration", "stopped", "interrupted" or "window closed". `late_steps` started more than one time step
    behind schedule; `worst_delay` is the longest such delay, in s of real time.
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
        # A run of no time: without a step, or faster than the clock can tell.
        return self.sim_time / self.wall_time if self.wall_time > 0.0 else float("inf")


class Pacer:
    """Computes the time to wait before the next step, so that simulated time keeps a given ratio to real time.

    A run that falls behind by more than 0.25 s, or two steps, continues from there instead of racing to catch up.
    `late_steps` and `worst_delay` (s of real time) are of steps more than one time step behind.
    """

    def __init__(self, dt: float) -> None:
        self.late_steps = 0
        self.worst_delay = 0.0
        self._dt = dt
        # Short delays of the machine are made up for; after longer ones robots would visibly rush.
        self._slack = max(0.25, 2.0 * dt)
        self._rtf = 0.0
        self._origin: tuple[float, float] | None = None

    def restart(self) -> None:
        """Reset the schedule, as after a pause."""
        self._origin = None

    def wait_for(self, sim_time: float, rtf: float) -> float:
        """Return the seconds to wait until `sim_time` is due at the real-time factor `rtf`; 0 when it is."""
        if rtf <= 0.0:
            # The schedule of a run at full speed would be far behind when it slows down.
            self.restart()
            return 0.0
        now = time.perf_counter()
        if self._origin is None or rtf != self._rtf:
            self._origin, self._rtf = (now, sim_time), rtf
        wait = self._origin[0] + (sim_time - self._origin[1]) / rtf - now
        # Less than a step late is what every run is.
        if wait < -self._dt / rtf:
            self.late_steps += 1
            self.worst_delay = max(self.worst_delay, -wait)
        if wait < -self._slack:
            # Far behind: the schedule begins anew, and what was missed stays missed.
            self.restart()
        # Whoever waits asks again afterwards; locks refuse to wait for centuries.
        return min(max(0.0, wait), LONGEST_WAIT)


class Runner:
    """Runs steps at the target pace, in the thread that calls `run`.

    `pacer` is that of the run under way, or of the last one: how many of its steps were late, and by how much.
    """

    def __init__(self, sim: SimulationParts, make_step: Callable[..., object], monitor: Monitor, view: View) -> None:
        """`make_step(most=1)` makes one step of up to `most` ticks, paused or not."""
        self._sim, self._make_step, self._monitor, self._view = sim, make_step, monitor, view
        self.pacer = Pacer(sim.clock.dt)
        self.ticks_left = 1
        """How many ticks `step_until` may make at once."""
        self._waits_for: Callable[[], bool] = bool
        self._has_come = False
        self._last_frame = 0.0
        """Time of the last look at the window, in s of the real clock."""
        self._steps_since_frame = 0

    # ---- single steps ------------------------------------------------------------------------------------------------

    def single_step(self, count: int = 1) -> None:
        """Make `count` steps while paused, and return after them; from any thread.

        Of a run in another thread they are made some at once, with room for what others ask for in between. Raises
        StateError when not paused, and from inside a step.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidValueError(f"single_step: count must be a whole number of at least 1, got {count!r}")
        control = self._sim.control
        if not control.runs_elsewhere:
            self.make_some(count, Turn(inf))
            return
        while count:
            count -= control.between_steps(partial(self.make_some, count, Turn(SHARE))).result()

    def make_some(self, most: int, turn: Turn) -> int:
        """Make up to `most` steps, as many as there is time for; return how many. Raises StateError when not paused."""
        if not self._sim.control.is_paused:
            raise StateError("single_step() is for a paused simulation; call pause() first, or use step_once()")
        for made in range(most):
            if not turn.has_time():
                return made
            self._make_step()
        return most

    def step_over(self, most: int) -> None:
        """Make one step of as many ticks, at most `most`, as pass before something has to look; unless paused."""
        if not self._sim.control.holds_back("step_over"):
            self._make_step(most)

    def step_until(self, done: Callable[[], bool], most: int) -> None:
        """Make ticks until `done()` is true after one, at most `most` of them; none while paused.

        Where only the engine moves things, and nobody looks in between, they are ticks of one step: the same run.
        """
        clock, self._waits_for, self._has_come = self._sim.clock, done, False
        end = clock.tick + most
        try:
            while clock.tick < end and not self._sim.control.holds_back("step_until"):
                self.ticks_left = end - clock.tick
                self._make_step(self.ticks_left)
                if self._has_come or done():
                    break
        finally:
            self.ticks_left, self._waits_for = 1, bool

    def has_come(self) -> bool:
        """Return whether what `step_until` waits for has come; asked between the ticks of a step."""
        self._has_come = self._waits_for()
        return self._has_come

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
        seconds = as_float(self._sim.params.duration if duration is None else duration, "duration in s", low=0.0)
        self._sim.control.begin_run()
        clock = self._sim.clock
        last_tick = clock.tick + clock.ticks(seconds) if seconds > 0.0 else None
        if self._sim.params.gui and not self._monitor.is_shown:
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
            self._sim.control.end_run()
            if final_callback is not None:
                self._sim.guard.call("final callback", final_callback, self._sim)
        steps, passed = clock.tick - first_tick, time.perf_counter() - begin
        return RunReport(steps, clock.seconds(steps), passed, reason, pacer.late_steps, pacer.worst_delay)

    def _loop(self, last_tick: int | None, update_callback: Callable[..., object] | None) -> str:
        """Step until somebody stops it, the window is closed or `last_tick` is reached; return which it was.

        Tasks and commands of other threads are carried out while it is paused, too.
        """
        sim, update = self._sim, self._sim.guard.part("update callback")
        control, clock, inbox, dispatcher = sim.control, sim.clock, sim.inbox, sim.dispatcher
        has_stepped = False
        while not control.is_stopping:
            # Each step ends with them: once a step, so that many of them take turns with steps.
            if not has_stepped:
                control.run_tasks()
            has_stepped = False
            inbox.drain_between_steps(dispatcher)
            if last_tick is not None and clock.tick >= last_tick:
                return "duration"
            if not self._frame():
                return "window closed"
            if control.is_paused:
                self._monitor.update()
                control.rest(None, self._longest_rest())
                # Commands are applied while paused too, so that a moved robot is visible at once.
                if inbox.drain(dispatcher):
                    sim.snapshots.refresh()
                # The time spent paused is not made up for.
                self.pacer.restart()
                continue
            wait = self.pacer.wait_for(clock.time, self._sim.params.target_rtf)
            if wait > 0.0:
                # Not a plain sleep, and then from the top: it may have been woken by a stop, a pause or a command.
                control.rest(wait, self._longest_rest())
                # As while paused: with a tiny real-time factor the next step may be a year away.
                if wait > LONGEST_HELD and inbox.drain(dispatcher):
                    sim.snapshots.refresh()
                continue
            # Nobody waits for a moment in between where nobody looks, and time passes as fast as it can.
            looks = update_callback is not None or self._sim.params.target_rtf > 0.0
            self._make_step(1 if looks else ANY if last_tick is None else last_tick - clock.tick)
            has_stepped = True
            self._steps_since_frame += 1
            self._monitor.update_if_due()
            if update_callback is not None:
                update.call(update_callback, self._sim, clock.dt)
        return "stopped"

    # ---- the window --------------------------------------------------------------------------------------------------

    def _longest_rest(self) -> float | None:
        """Return the maximum sleep in s between two polls of the window; None without a window."""
        return self._sim.params.max_sleep_frames / self._sim.params.gui_min_fps if self._sim.params.gui else None

    def _frame(self) -> bool:
        """Serve the window when a frame is due; returns whether it is still open."""
        params = self._sim.params
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
        control = self._sim.control
        for action in self._view.poll_keys():
            if action == "pause":
                (control.resume if control.is_paused else control.pause)()
            elif action == "single_step":
                if control.is_paused:
                    self._make_step()
            else:
                self._view.apply_key(action)
        return self._view.is_open
