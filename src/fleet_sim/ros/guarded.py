"""Interfaces as the step calls them: what one raises ends neither the step nor the others."""

from __future__ import annotations

from collections.abc import Callable

from fleet_sim.core.faults import FaultGuard
from fleet_sim.ros.interface import Interface
from fleet_sim.ros.roster import Roster

MOST_FAULTS = 10
"""In a row, after which an interface publishes no more."""


class GuardedInterface:
    """Calls one interface. A fault is logged once and counted; after MOST_FAULTS in a row its publishing is given up.

    Receiving is never given up: otherwise whoever finds a message that makes an interface fail could send it ten times,
    and nobody could drive any more.
    """

    def __init__(self, interface: Interface, guard: FaultGuard, warn: Callable[[str], object]) -> None:
        self.interface = interface
        self.is_off = False
        self._guard = guard
        self._warn = warn
        self._title = f"ROS interface {type(interface).__name__}"
        self._in_a_row = 0

    def on_fleet_changed(self, roster: Roster) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.on_fleet_changed, roster)

    def receive(self) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.receive)

    def publish(self, now: int) -> None:
        """See Interface."""
        if self.is_off:
            return
        # The guard swallows the exception, so a fault only shows in its count.
        before = self._guard.total
        self._guard.call(self._title, self.interface.publish, now)
        self._in_a_row = 0 if self._guard.total == before else self._in_a_row + 1
        if self._in_a_row >= MOST_FAULTS:
            self.is_off = True
            self._warn(f"{self._title} failed {MOST_FAULTS} times in a row and publishes no more; the log has why")

    def end_step(self) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.end_step)

    def on_reset(self) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.on_reset)
