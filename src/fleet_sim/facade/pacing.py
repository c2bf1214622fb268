"""Synchronises simulated time with real time, and reports on a run."""

from __future__ import annotations

import time
from dataclasses import dataclass

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
