"""What a master control asks for: a state, a factsheet, a list without what has ended."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.vda5050.vehicle import ENDED, ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import INSTANT, NODE, InstantAction, VehicleAction


class StateRequest(InstantAction):
    """Sends a state; the state itself says that the action has ended."""

    doc = "Send a state."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Ask for a state."""
        vehicle.changed = True
        self.finish(entry)


class FactsheetRequest(InstantAction):
    """Sends the factsheet."""

    doc = "Send the factsheet."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Ask for the factsheet."""
        vehicle.wants_factsheet = True
        self.finish(entry)


class ClearInstantActions(VehicleAction):
    """Removes instant actions that have ended from the states."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    at_once = True
    doc = "Report ended instant actions no longer."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Remove them; this one stays until the next time."""
        vehicle.state.instants = [item for item in vehicle.state.instants if item.status not in ENDED]
        self.finish(entry)
