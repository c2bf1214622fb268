"""enableZoneSet and deleteZoneSet: which zones hold on a map."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.vda5050.faults import VehicleFault
from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import INSTANT, ActionParameter, VehicleAction
from fleet_sim.vda5050.zones import BLOCKED, VehicleZoneSet


class EnableZoneSet(VehicleAction):
    """Lets the zones of a set hold, and no others on its map; between orders only."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT,)
    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    parameters: ClassVar[tuple[ActionParameter, ...]] = (ActionParameter("zoneSetId", "STRING"),)
    doc = "Use a zone set; between orders only."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Enable it."""
        state, chosen = vehicle.state, self._chosen(vehicle, entry)
        if chosen is None:
            self.fail(entry, "there is no such zone set on the vehicle")
        elif not vehicle.is_idle:
            self.fail(entry, "the vehicle has an order, which it took over with the zones that hold now")
        elif self.context.traffic_of(vehicle.row) is not None:
            self.fail(entry, "the vehicle is driven by the traffic of the site, which plans its way")
        else:
            for item in state.zone_sets:
                if item.map_id == chosen.map_id:
                    item.enabled = item is chosen
            self._look_around(vehicle)
            self.finish(entry)

    def _chosen(self, vehicle: Vehicle, entry: ActionEntry) -> VehicleZoneSet | None:
        wanted = entry.action.parameters["zoneSetId"]
        return next((item for item in vehicle.state.zone_sets if item.zone_set_id == wanted), None)

    def _look_around(self, vehicle: Vehicle) -> None:
        vehicle.take_back("blocked_zone")
        for zone in vehicle.zones_here():
            if zone.kind == BLOCKED:
                vehicle.report(VehicleFault("blocked_zone", "the vehicle is in this zone", {"zoneId": zone.zone_id}))


class DeleteZoneSet(EnableZoneSet):
    """Removes a zone set that is not enabled."""

    doc = "Remove a zone set."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Remove it."""
        state, chosen = vehicle.state, self._chosen(vehicle, entry)
        if chosen is None:
            self.fail(entry, "there is no such zone set on the vehicle")
        elif chosen.enabled:
            self.fail(entry, "the zone set is in use")
        else:
            state.zone_sets.remove(chosen)
            self.finish(entry)
