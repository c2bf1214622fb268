"""ZoneWatch: asks for releases of zones, hears the answers, and sees when a vehicle has left a zone."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Mapping, Sequence
from time import strptime
from typing import Any

import numpy as np

from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.vda5050.driving import VehicleDriver
from fleet_sim.vda5050.faults import Refused, VehicleFault
from fleet_sim.vda5050.vehicle import Vehicle
from fleet_sim.vda5050.wire.shapes import MalformedMessage
from fleet_sim.vda5050.zones import VehicleZone, ZoneRequest, enabled_zones

LOST = "release_lost"


class ZoneWatch:
    """The requests of one vehicle."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self.driver: VehicleDriver
        """Set by the pilot."""

    def ask_for(self, zones: Sequence[str]) -> None:
        """Ask for a release of zones, unless that was done."""
        vehicle, state = self._vehicle, self._vehicle.state
        known = {request.zone_id for request in state.requests}
        for item in state.zone_sets:
            for zone in item.zones if item.enabled and item.map_id == state.map_id else ():
                if zone.zone_id in zones and zone.zone_id not in known:
                    state.request_count += 1
                    name = f"{vehicle.serial}-{state.request_count}"
                    state.requests.append(ZoneRequest(name, zone.zone_id, item.zone_set_id))
                    vehicle.wake()

    def answer(self, values: Mapping[str, Any], received: float) -> None:
        """Take in a response; raises Refused for a request that there is not, and MalformedMessage."""
        vehicle, state = self._vehicle, self._vehicle.state
        wanted, grant = values["requestId"], values["grantType"]
        request = next((item for item in state.requests if item.request_id == wanted), None)
        if request is None:
            raise Refused("zone_set", f"there is no request {wanted!r}", requestId=wanted)
        vehicle.wake()
        if grant == "GRANTED":
            request.expires = self._expiry(values.get("leaseExpiry"), received)
            request.status = "GRANTED"
            if not any(item.status in ("REVOKED", "EXPIRED") for item in state.requests):
                vehicle.take_back(LOST)
                state.stuck = ""
            state.extended = state.leg is not None
        elif grant == "REJECTED" and request.status == "REQUESTED":
            state.requests.remove(request)
            state.stuck = f"zone {request.zone_id!r} was rejected"
            vehicle.report(VehicleFault("unreachable", state.stuck, {"zoneId": request.zone_id}))
        elif grant == "REVOKED":
            self._lose(request, "REVOKED")

    def _expiry(self, text: str | None, received: float) -> float | None:
        """Return the simulated time at which a lease ends, which is in wall time."""
        if text is None:
            return None
        try:
            ends = timegm(strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float("0" + (text[19:].rstrip("Z") or ".0"))
        except ValueError as error:
            raise MalformedMessage("leaseExpiry", f"expected 2026-01-31T12:00:00.000Z, got {text[:40]!r}") from error
        return self._vehicle.world.clock.time + max(ends - received, 0.0)

    def look(self) -> None:
        """See which zones were entered and left, and which leases have ended."""
        vehicle, state = self._vehicle, self._vehicle.state
        if not state.requests:
            return
        vehicle.awake = True
        zones = {zone.zone_id: zone for zone in enabled_zones(state.zone_sets, state.map_id)}
        for request in list(state.requests):
            zone = zones.get(request.zone_id)
            inside = zone is not None and self._is_in(zone)
            if request.entered and not inside:
                state.requests.remove(request)
                vehicle.take_back(LOST)
                vehicle.changed = True
            elif request.status == "GRANTED":
                request.entered = inside
                if request.expires is not None and vehicle.world.clock.time >= request.expires:
                    self._lose(request, "EXPIRED")

    def _is_in(self, zone: VehicleZone) -> bool:
        # A millimetre less: a vehicle that waits before a zone is not inside.
        radius = footprint_radius(self._vehicle.world, self._vehicle.row) - 1e-3
        return bool(zone.touches(np.array([self._vehicle.place]), radius)[0])

    def _lose(self, request: ZoneRequest, status: str) -> None:
        """Brake, wait or drive on after a release was lost: as the zone says, or by asking anew before it is entered.

        `status` is what the request becomes where the vehicle has to stop in the zone.
        """
        vehicle, state = self._vehicle, self._vehicle.state
        vehicle.wake()
        zones = {zone.zone_id: zone for zone in enabled_zones(state.zone_sets, state.map_id)}
        zone = zones.get(request.zone_id)
        if zone is None or not self._is_in(zone):
            # It asks anew where it still has to go there.
            state.requests.remove(request)
            self.driver.brake()
        elif zone.loss == "STOP":
            request.status = status
            state.stuck = f"the release of zone {zone.zone_id!r} was lost"
            vehicle.report(VehicleFault(LOST, state.stuck, {"zoneId": zone.zone_id}))
            self.driver.brake()
        else:
            request.expires = None
