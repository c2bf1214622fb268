"""enableMap, downloadMap, deleteMap: the maps on a vehicle. Nothing is fetched: the scenario says which there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fleet_sim.vda5050.faults import VehicleFault
from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle, VehicleMap
from fleet_sim.vda5050.work.action import INSTANT, NODE, ActionParameter, VehicleAction

_MAP = (ActionParameter("mapId", "STRING"), ActionParameter("mapVersion", "STRING"))
DOWNLOAD_TIME = 2.0
"""How long a download takes, in s of simulated time."""


class MapAction(VehicleAction):
    """Base of what is done to one map on the vehicle."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT,)
    versions: ClassVar[tuple[str, ...]] = ("2.1", "3.0")
    parameters: ClassVar[tuple[ActionParameter, ...]] = _MAP

    def found(self, vehicle: Vehicle, given: Mapping[str, Any]) -> VehicleMap | None:
        """Return the map that is meant; None where the vehicle does not have it."""
        wanted = given["mapId"], given["mapVersion"]
        return next((item for item in vehicle.state.maps if (item.map_id, item.version) == wanted), None)


class EnableMap(MapAction):
    """Enables a map that is on the vehicle, and disables its other versions."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    doc = "Use a map."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Enable it."""
        chosen = self.found(vehicle, entry.action.parameters)
        if chosen is None:
            self.fail(entry, "there is no such map on the vehicle")
            return
        for item in vehicle.state.maps:
            if item.map_id == chosen.map_id:
                item.enabled = item is chosen
        if not vehicle.state.map_id:
            vehicle.state.map_id = chosen.map_id
        vehicle.changed = True
        self.finish(entry)


class DownloadMap(MapAction):
    """Gets a map that the settings have `on_server`; the link is not opened."""

    doc = "Get a map that the scenario has on its server; the link is not opened."
    parameters: ClassVar[tuple[ActionParameter, ...]] = (
        *_MAP,
        ActionParameter("mapDownloadLink", "STRING", doc="a label: it is not opened"),
        ActionParameter("mapHash", "STRING", True, "a label"),
    )

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin, unless the map is there already."""
        given = entry.action.parameters
        if self.found(vehicle, given) is not None:
            references = {"mapId": given["mapId"], "mapVersion": given["mapVersion"]}
            vehicle.report(VehicleFault("duplicate_map", "the map is on the vehicle already", references))
            self.fail(entry, "the map is on the vehicle already")
        entry.left = DOWNLOAD_TIME

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """End after a while."""
        if not entry.spend(dt):
            return
        given = entry.action.parameters
        wanted = given["mapId"], given["mapVersion"]
        known = [item for item in vehicle.settings.maps if (item.id, item.version) == wanted]
        if not known or known[0].status != "on_server":
            self.fail(entry, "there is no such map on the server")
            return
        vehicle.state.maps.append(VehicleMap(*wanted, False))
        vehicle.changed = True
        self.finish(entry)


class DeleteMap(MapAction):
    """Removes a map from the vehicle, unless it is in use."""

    doc = "Remove a map."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Remove it."""
        chosen = self.found(vehicle, entry.action.parameters)
        if chosen is None:
            self.fail(entry, "there is no such map on the vehicle")
        elif chosen.enabled and chosen.map_id == vehicle.state.map_id:
            self.fail(entry, "the vehicle uses this map")
        else:
            vehicle.state.maps.remove(chosen)
            vehicle.changed = True
            self.finish(entry)
