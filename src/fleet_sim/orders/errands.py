"""What robots do besides orders from station to station, as the fleet sees it."""

from __future__ import annotations

from typing import Protocol

from fleet_sim.orders.courier import Courier


class Dock(Protocol):
    """Where robots charge between orders."""

    def wants(self, row: int) -> bool:
        """Return whether a robot is to charge when it has done what it does."""

    def begin(self, courier: Courier) -> None:
        """Send a robot that has nothing else to do to charge."""

    def arrived(self, courier: Courier) -> None:
        """Charge a robot that has got where it was sent."""

    def forget(self, courier: Courier) -> None:
        """Do without a robot that does not get there, or is removed."""


class Porter(Protocol):
    """Who takes robots through errands with pods (`Task.POD`)."""

    def check(self, courier: Courier) -> None:
        """Raise InvalidValueError where a robot must not drive now."""

    def arrived(self, courier: Courier) -> None:
        """Go on with a robot that has got where it was sent."""

    def served(self, courier: Courier) -> None:
        """Go on with a robot that has stood for as long as it was to."""

    def give_up(self, courier: Courier, reason: str) -> None:
        """Do without a robot that is removed, or that has no pod and cannot go on."""
