"""startCharging and stopCharging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import INSTANT, NODE, VehicleAction


class StartCharging(VehicleAction):
    """Connects the battery to a charger; where the site has stations of the kind charge, only at one of them."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    doc = "Begin to charge."
    charging = True

    def check(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> str:
        """Refuse robots without a battery."""
        return "" if self.context.battery(vehicle.row) is not None else "it has no battery"

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Connect, or disconnect."""
        battery = self.context.battery(vehicle.row)
        if battery is None:
            self.fail(entry, "it has no battery")
        elif self.charging and not self.context.is_at_charger(vehicle.place, vehicle.settings.reach):
            self.fail(entry, f"there is no charger within {vehicle.settings.reach:g} m")
        else:
            battery.charging[vehicle.row] = self.charging
            vehicle.changed = True
            self.finish(entry)


class StopCharging(StartCharging):
    """Disconnects the battery."""

    doc = "Charge no longer."
    charging = False
