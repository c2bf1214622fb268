"""ROS time: simulation time that never goes back, not even at a reset."""

from __future__ import annotations

from fleet_sim.core.clock import Clock, exact

NS_PER_S = 1_000_000_000


class RosTime:
    """Simulation time in ns for stamps and /clock. A reset does not set it back.

    If time jumps back, TF buffers, filters and timers of other nodes clear their data or stop.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # A fraction, so that stamps have no rounding errors that grow with the number of steps, as whole numbers:
        # arithmetic of Fraction takes longer than a robot's step.
        numerator, self._denominator = exact(clock.dt).as_integer_ratio()
        self._numerator = NS_PER_S * numerator
        self._offset = 0
        self._last = 0

    def now(self, *, ticks_ahead: int = 0) -> int:
        """Return the time in ns at the beginning of the current step, or `ticks_ahead` steps later."""
        time = self._elapsed(ticks_ahead) + self._offset
        # In the middle of a step the clock is older than the time that the previous step has already published.
        self._last = max(self._last, time)
        return time

    @property
    def last(self) -> int:
        """The newest time given out, in ns."""
        return self._last

    def on_reset(self) -> None:
        """Continue a step after the newest time given out, after the simulation's clock was set back.

        Whatever was published before, the state after it has a stamp of its own: readers drop messages of a time that
        they have had.
        """
        self._offset = self._last + self._elapsed(1) - 2 * self._elapsed(0)

    def _elapsed(self, ticks_ahead: int) -> int:
        return (self._clock.tick + ticks_ahead) * self._numerator // self._denominator
