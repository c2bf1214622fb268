"""Zones of version 3.0: areas that are blocked, that limit the speed, or that need a release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.vda5050.faults import Refused

BLOCKED, RELEASE, SPEED_LIMIT = "BLOCKED", "RELEASE", "SPEED_LIMIT"
SUPPORTED = (BLOCKED, RELEASE, SPEED_LIMIT)
LONGEST_EDGE = 500.0
"""Of an edge where there are zones, in m: all of it is looked at closely."""
SPACING = 0.1
"""Between the places on a way that are looked at, in m."""
MOST_AT_ONCE = 1 << 16
"""Pairs of places and sides of zones that are looked at together."""
MOST_WORK = 2_000_000
"""The same, of all that a vehicle still has to drive: about half a second."""


@saved
@dataclass
class VehicleZone:
    """A zone by its corners (x, y) in m; `speed` (m/s) is of a speed limit, `loss` what follows a lost release."""

    zone_id: str
    kind: str
    corners: list[tuple[float, float]]
    speed: float = math.inf
    loss: str = "STOP"

    def touches(self, points: Floats, radius: float) -> Bools:
        """Return at which of `points` (N, 2) a disc of `radius` m touches the zone."""
        begins = np.array(self.corners)
        sides = np.hstack((begins, np.roll(begins, -1, axis=0)))[:, :, None]
        inside_mask, x, y = np.zeros(len(points), bool), points[:, 0], points[:, 1]
        gaps = np.full(len(points), np.inf)
        # Many sides at once, but not so many that they fill the memory.
        at_once = max(1, MOST_AT_ONCE // max(1, len(points)))
        for some in range(0, len(sides), at_once):
            x1, y1, x2, y2 = np.swapaxes(sides[some : some + at_once], 0, 1)
            dx, dy = x2 - x1, y2 - y1
            # Sides that a ray to the right crosses: an odd number of them from inside.
            slopes = np.where(dy != 0.0, dx / np.where(dy != 0.0, dy, 1.0), 0.0)
            crosses_mask = ((y1 > y) != (y2 > y)) & (x < x1 + slopes * (y - y1))
            inside_mask ^= np.logical_xor.reduce(crosses_mask, axis=0)
            share = np.clip(((x - x1) * dx + (y - y1) * dy) / np.maximum(dx * dx + dy * dy, 1e-12), 0.0, 1.0)
            gaps = np.minimum(gaps, trig.hypot(x - x1 - share * dx, y - y1 - share * dy).min(axis=0))
        touched_mask: Bools = inside_mask | (gaps <= radius)
        return touched_mask


@saved
@dataclass
class VehicleZoneSet:
    """Zones of a map that a vehicle has; one set of a map is enabled."""

    zone_set_id: str
    map_id: str
    zones: list[VehicleZone]
    enabled: bool = False


@saved
@dataclass
class ZoneRequest:
    """A request to enter a zone. `expires` is the simulated time (s) at which a grant ends."""

    request_id: str
    zone_id: str
    zone_set_id: str
    status: str = "REQUESTED"
    expires: float | None = None
    entered: bool = False


class ZonedWay(NamedTuple):
    """Points (K, 2) of a way, the speeds (K,) up to each, and the zones that begin behind place k; 0 is its begin."""

    points: Floats
    limits: Floats
    gates: dict[int, list[str]]


def zone_set_of(values: Mapping[str, Any]) -> VehicleZoneSet:
    """Return the zone set in the values of a message; raises Refused for zones that vehicles cannot keep to."""
    zones = []
    for item in values["zones"]:
        about = {"zoneId": item["zoneId"], "zoneSetId": values["zoneSetId"]}
        kind = item["zoneType"]
        if kind not in SUPPORTED:
            raise Refused("zone_set", f"zones of type {kind} are not supported, but {', '.join(SUPPORTED)}", **about)
        if kind == SPEED_LIMIT and item.get("maximumSpeed", 0.0) < 1e-3:
            raise Refused("zone_set", "a speed limit needs a maximumSpeed above 0", **about)
        if item.get("releaseLossBehavior") == "EVACUATE":
            raise Refused("zone_set", "releaseLossBehavior: STOP and CONTINUE are supported", **about)
        corners = [(vertex["x"], vertex["y"]) for vertex in item["vertices"]]
        speed = item["maximumSpeed"] if kind == SPEED_LIMIT else math.inf
        zones.append(VehicleZone(item["zoneId"], kind, corners, speed, item.get("releaseLossBehavior", "STOP")))
    return VehicleZoneSet(values["zoneSetId"], values["mapId"], zones)


def enabled_zones(sets: Sequence[VehicleZoneSet], map_id: str) -> list[VehicleZone]:
    """Return the zones that hold on a map."""
    return [zone for item in sets if item.enabled and item.map_id == map_id for zone in item.zones]


def _places(begin: tuple[float, float], points: Floats) -> list[Floats]:
    """Return the places on a way from `begin` through `points` (K, 2): the begin, and those up to each point."""
    corners = np.vstack((np.array(begin)[None], points))
    dense = [corners[:1]]
    for one, other in pairwise(corners):
        count = max(1, math.ceil(trig.hypot_of(float(other[0] - one[0]), float(other[1] - one[1])) / SPACING))
        dense.append(one + (other - one) * (np.arange(1, count + 1) / count)[:, None])
        # Not only up to the last bits.
        dense[-1][-1] = other
    return dense


def places_on(begin: tuple[float, float], points: Floats) -> Floats:
    """Return the places (N, 2), at most SPACING apart, on a way from `begin` through `points` (K, 2)."""
    return np.concatenate(_places(begin, points))


class ZoneWork:
    """How much there is to look at on ways through `zones`, told before it is looked at."""

    def __init__(self, zones: Sequence[VehicleZone], radius: float) -> None:
        corners = [np.array(zone.corners) for zone in zones]
        self._low = np.array([part.min(axis=0) for part in corners]) - radius
        self._high = np.array([part.max(axis=0) for part in corners]) + radius
        self._sides = np.array([len(part) for part in corners])

    def on(self, length: float, corners: Floats) -> float:
        """Return how many pairs of places and sides there are on a way of `length` m inside of `corners` (K, 2)."""
        near_mask = ((self._low <= corners.max(axis=0)) & (self._high >= corners.min(axis=0))).all(axis=1)
        return (length / SPACING + len(corners)) * float(self._sides[near_mask].sum())


def zoned(begin: tuple[float, float], points: Floats, zones: Sequence[VehicleZone], radius: float) -> ZonedWay:
    """Return the way from `begin` through `points` (K, 2), with more points where zones begin and end."""
    if not zones:
        return ZonedWay(points, np.full(len(points), np.inf), {})
    dense = _places(begin, points)
    places = np.concatenate(dense)
    # The corners stay exactly where they are; all other places are kept where something changes only.
    kept_mask = np.zeros(len(places), bool)
    kept_mask[np.cumsum([len(part) for part in dense]) - 1] = True
    low, high = places.min(axis=0) - radius, places.max(axis=0) + radius
    limits, gates = np.full(len(places), np.inf), dict[int, list[str]]()
    for zone in zones:
        box = np.array(zone.corners)
        if (box.max(axis=0) < low).any() or (box.min(axis=0) > high).any():
            # Most zones are far from a way; to see that is quick.
            continue
        touched_mask = zone.touches(places, radius)
        changes = np.flatnonzero(touched_mask[1:] != touched_mask[:-1])
        # The last place before a zone, and the first one after it.
        kept_mask[np.where(touched_mask[changes], changes + 1, changes)] = True
        if zone.kind == SPEED_LIMIT:
            # A line is limited where one of its ends is inside.
            inside_mask = touched_mask | np.append(False, touched_mask[:-1])
            limits = np.where(inside_mask, np.minimum(limits, zone.speed), limits)
        elif zone.kind == RELEASE:
            entries = [0] if touched_mask[0] else []
            for entry in [*entries, *(changes[~touched_mask[changes]]).tolist()]:
                gates.setdefault(int(entry), []).append(zone.zone_id)
    kept = np.flatnonzero(kept_mask)
    kept = kept[kept > 0]
    # Of a line between two kept places the lowest limit holds.
    lows = [float(limits[start + 1 : end + 1].min()) for start, end in pairwise([0, *kept.tolist()])]
    numbers = {0: 0} | {int(place): index + 1 for index, place in enumerate(kept.tolist())}
    return ZonedWay(places[kept], np.array(lows), {numbers[place]: names for place, names in gates.items()})
