"""Interfaces as the step calls them: what one raises ends neither the step nor the others."""

from __future__ import annotations

from fleet_sim.core.faults import FaultGuard
from fleet_sim.ros.interface import Interface
from fleet_sim.ros.roster import Roster


class GuardedInterface:
    """Calls one interface. A fault is logged once and counted; after `max_failures` in a row it publishes no more.

    Receiving is never switched off: otherwise a client with a message that makes an interface fail could send it until
    no robot can be driven any more.
    """

    def __init__(self, interface: Interface, guard: FaultGuard) -> None:
        self.interface = interface
        self._guard = guard
        self._title = f"ROS interface {type(interface).__name__}"
        self._publishing = guard.part(self._title)

    def on_fleet_changed(self, roster: Roster) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.on_fleet_changed, roster)

    def receive(self) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.receive)

    def publish(self, now: int) -> None:
        """See Interface."""
        self._publishing.call(self.interface.publish, now)

    def end_step(self) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.end_step)

    def on_reset(self) -> None:
        """See Interface."""
        self._guard.call(self._title, self.interface.on_reset)
