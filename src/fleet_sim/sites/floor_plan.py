"""FloorPlan: what is seen of a site on its floor, which is kept with recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from fleet_sim.errors import InvalidValueError, UnknownNameError, brief
from fleet_sim.gate.bounds import LARGEST_EXTENT
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Door, Site
from fleet_sim.sites.stations import Station, StationKind, Zone, ZoneKind

MOST_THINGS = 100_000
"""Stations, zones and doors that are read, of each."""
LONGEST_NAME = 1000

Thing = TypeVar("Thing")


@dataclass(frozen=True, eq=False)
class FloorPlan:
    """Stations, zones and doors; `cell` is the size of what stands on a station, in m."""

    cell: float
    stations: tuple[Station, ...] = ()
    zones: tuple[Zone, ...] = ()
    doors: tuple[Door, ...] = ()


def plan_of(site: Site) -> FloorPlan:
    """Return the floor plan of a site."""
    return FloorPlan(site.grid.cell, site.stations, site.zones, site.doors)


def floor_plan_of(sim: MultiRobotSimulationCore) -> FloorPlan | None:
    """Return the floor plan of the building that a simulation is in; None without one."""
    try:
        site = sim.get_manager("site")
    except UnknownNameError:
        return None
    return plan_of(site) if isinstance(site, Site) else None


def plan_to_json(plan: FloorPlan) -> str:
    """Return a floor plan as JSON. What holds in a zone is not in it, only where it is and of which kind."""
    content = {
        "cell": plan.cell,
        "stations": [[one.name, one.kind.value, one.x, one.y, one.yaw] for one in plan.stations],
        "zones": [[one.name, one.kind.value, one.corners.tolist()] for one in plan.zones],
        "doors": [[one.name, one.kind, *one.begin, *one.end] for one in plan.doors],
    }
    return json.dumps(content, separators=(",", ":"))


def plan_from_json(text: bytes) -> FloorPlan:
    """Return the floor plan in JSON, whoever wrote that; raises InvalidValueError for anything else."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"a floor plan is no JSON: {str(error)[:200]}") from error
    if not isinstance(content, dict):
        raise InvalidValueError(f"expected a floor plan, got {brief(content)}")
    return FloorPlan(
        _number(content.get("cell"), 1e-3),
        _things(content, "stations", _station),
        _things(content, "zones", _zone),
        _things(content, "doors", _door),
    )


def _things(content: Mapping[str, Any], what: str, read: Callable[..., Thing]) -> tuple[Thing, ...]:
    entries = content.get(what)
    if not isinstance(entries, list) or len(entries) > MOST_THINGS:
        raise InvalidValueError(f"expected a list of at most {MOST_THINGS} {what}, got {brief(entries)}")
    try:
        return tuple(read(*entry) for entry in entries)
    except TypeError as error:
        # Of another length, or no list at all.
        raise InvalidValueError(f"one of the {what} of a floor plan is none: {error}") from error


def _station(name: object, kind: object, x: object, y: object, yaw: object) -> Station:
    return Station(_text(name), StationKind.parse(_text(kind)), _number(x), _number(y), _number(yaw))


def _zone(name: object, kind: object, corners: object) -> Zone:
    if not isinstance(corners, list) or not 3 <= len(corners) <= MOST_THINGS:
        raise InvalidValueError(f"expected the corners of a zone, got {brief(corners)}")
    places = np.array([(_number(x), _number(y)) for x, y in corners])
    # A zone with a limit needs one; it is not shown.
    return Zone(_text(name), ZoneKind.parse(_text(kind)), places, speed=1.0)


def _door(name: object, kind: object, *ends: object) -> Door:
    left, bottom, right, top = map(_number, ends)
    return Door(_text(name), _text(kind), (left, bottom), (right, top))


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise InvalidValueError(f"expected a text of at most {LONGEST_NAME} letters, got {brief(value)}")
    return value


def _number(value: object, low: float = -LARGEST_EXTENT) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= LARGEST_EXTENT:
        raise InvalidValueError(f"expected a number up to {LARGEST_EXTENT:g}, got {brief(value)}")
    return float(value)
