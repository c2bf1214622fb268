"""Running a simulation: pacing, pause, single steps, the window's keys."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition

from fleet_sim.arrays import as_float
from fleet_sim.errors import StateError
from fleet_sim.facade.base import SimulationParts

log = logging.getLogger("fleet_sim")


@dataclass(frozen=True)
class RunReport:
    """How a run went: steps made, simulated and real seconds, and why it ended.

    `reason` is "duration", "stopped", "interrupted" or "window closed". `late_steps` were begun behind schedule.
    """

    steps: int
    sim_time: float
    wall_time: float
    reason: str
    late_steps: int

    @property
    def rtf(self) -> float:
        """Simulated seconds per real second."""
        return self.sim_time / self.wall_time if self.wall_time > 0.0 else float("inf")


class Pacer:
    """Tells how long to wait before the next step, so that simulated time keeps a given ratio to real time.

    A run that falls behind by more than `slack` s of real time takes up from there instead of racing to catch up.
    """

    def __init__(self, rtf: float, slack: float) -> None:
        self.rtf = rtf
        self.late_steps = 0
        self._slack = slack
        self._origin: tuple[float, float] | None = None

    def restart(self) -> None:
        """Forget the past, as after a pause."""
        self._origin = None

    def wait_for(self, sim_time: float) -> float:
        """Return the seconds to wait until `sim_time` is due; 0 when it is."""
        if self.rtf <= 0.0:
            return 0.0
        now = time.perf_counter()
        if self._origin is None:
            self._origin = (now, sim_time)
        wait = self._origin[0] + (sim_time - self._origin[1]) / self.rtf - now
        if wait < -self._slack:
            self.late_steps += 1
            self._origin = (now, sim_time)
        return max(0.0, wait)


class Runner(SimulationParts):
    """Runs steps around `step_once`: `run_simulation`, pause and resume from any thread, single steps."""

    def __init__(self) -> None:
        self._wake = Condition()
        self._paused = False
        self._stopping = False
        self._running = False
        self._last_frame = 0.0
        self.inbox.on_put = self._notify

    def _advance(self) -> None:
        """Make one step, paused or not; the simulation defines it."""
        raise NotImplementedError

    # ---- pausing -----------------------------------------------------------------------------------------------------

    @property
    def is_paused(self) -> bool:
        """Whether steps are held back."""
        return self._paused

    def pause(self) -> None:
        """Hold steps back until `resume`; from any thread."""
        if not self._paused:
            self._paused = True
            self.world.events.emit("paused")

    def resume(self) -> None:
        """Go on; from any thread."""
        if self._paused:
            self._paused = False
            self.world.events.emit("resumed")
            self._notify()

    def single_step(self, count: int = 1) -> None:
        """Make `count` steps although paused; raises StateError when not paused."""
        if not self._paused:
            raise StateError("single_step() is for a paused simulation; call pause() first, or use step_once()")
        for _ in range(count):
            self._advance()

    def stop(self) -> None:
        """End `run_simulation` after the step it is in; from any thread."""
        self._stopping = True
        self._notify()

    def _notify(self) -> None:
        with self._wake:
            self._wake.notify_all()

    # ---- running -----------------------------------------------------------------------------------------------------

    def run_simulation(
        self,
        duration: float | None = None,
        update_callback: Callable[..., object] | None = None,
        final_callback: Callable[..., object] | None = None,
    ) -> RunReport:
        """Run for `duration` s of simulated time (None: `params.duration`; 0: until stopped) at `params.target_rtf`.

        `update_callback(sim, dt)` is called after each step, `final_callback(sim)` at the end. Waits without using the
        processor, also while paused. May be called again to go on.
        """
        if self._running:
            raise StateError("run_simulation() is running already")
        seconds = as_float(self.params.duration if duration is None else duration, "duration in s", low=0.0)
        last_tick = self.clock.tick + self.clock.ticks(seconds) if seconds > 0.0 else None
        pacer = Pacer(self.params.target_rtf, slack=max(0.25, 2.0 * self.clock.dt))
        first_tick, begin = self.clock.tick, time.perf_counter()
        self._running, self._stopping = True, False
        try:
            reason = self._loop(last_tick, pacer, update_callback)
        except KeyboardInterrupt:
            reason = "interrupted"
        finally:
            self._running = False
            if final_callback is not None:
                self.guard.call("final callback", final_callback, self)
        steps = self.clock.tick - first_tick
        simulated = steps * self.clock.dt
        return RunReport(steps, simulated, time.perf_counter() - begin, reason, pacer.late_steps)

    def _loop(self, last_tick: int | None, pacer: Pacer, update_callback: Callable[..., object] | None) -> str:
        while not self._stopping:
            if last_tick is not None and self.clock.tick >= last_tick:
                return "duration"
            if not self._frame():
                return "window closed"
            if self._paused:
                self._rest(None)
                self.inbox.drain(self.dispatcher)
                pacer.restart()
                continue
            wait = pacer.wait_for(self.clock.time)
            if wait > 0.0:
                self._rest(wait)
                continue
            self._advance()
            if update_callback is not None:
                self.guard.call("update callback", update_callback, self, self.clock.dt)
        return "stopped"

    def _rest(self, seconds: float | None) -> None:
        """Sleep for `seconds` (None: until something happens), but keep the window alive and hear `stop`."""
        limit = self._frame_period if self.params.gui else seconds
        if seconds is not None and limit is not None:
            limit = min(limit, seconds)
        with self._wake:
            if self._stopping or (seconds is None and (not self._paused or len(self.inbox))):
                return
            self._wake.wait(limit)

    # ---- the window --------------------------------------------------------------------------------------------------

    @property
    def _frame_period(self) -> float:
        return 1.0 / self.params.gui_min_fps

    def _frame(self) -> bool:
        """Serve the window when a frame is due; returns whether it is still open."""
        if not self.params.gui:
            return True
        now = time.perf_counter()
        if now - self._last_frame < self._frame_period:
            return True
        self._last_frame = now
        return self.serve_window()

    def serve_window(self) -> bool:
        """Handle the window's keys; returns whether it is still open. The view defines it."""
        return True
