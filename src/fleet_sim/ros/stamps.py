"""ROS time: simulation time that never goes back, not even at a reset."""

from __future__ import annotations

from fleet_sim.core.clock import Clock, exact
from fleet_sim.ros.conversions import NS_PER_S


class RosTime:
    """Simulation time in ns for stamps and /clock. After a reset it goes on from where it was.

    Time that jumps back makes TF buffers, filters and timers of other nodes drop what they have or stop.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._dt = exact(clock.dt)
        self._offset = 0
        self._last = 0

    def now(self, *, ticks_ahead: int = 0) -> int:
        """Return the time in ns: of the present step's begin, or `ticks_ahead` steps later."""
        time = self._elapsed(ticks_ahead) + self._offset
        # Who answers in the middle of a step is told an older time than the step before has published.
        self._last = max(self._last, time)
        return time

    @property
    def last(self) -> int:
        """The newest time given out, in ns."""
        return self._last

    def on_reset(self) -> None:
        """Go on from the last time given out: the simulation's clock was set back."""
        self._offset = self._last - self._elapsed(0)

    def _elapsed(self, ticks_ahead: int) -> int:
        return int((self._clock.tick + ticks_ahead) * NS_PER_S * self._dt)
