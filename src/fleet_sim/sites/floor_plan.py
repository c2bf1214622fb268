"""FloorPlan: what is seen of a site on its floor, which is kept with recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.gate.bounds import LARGEST_EXTENT
from fleet_sim.gate.json_values import mapping_in, number_of, text_of
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.building import Building, Level
from fleet_sim.sites.site import Door, Site
from fleet_sim.sites.stations import Station, StationKind, Zone, ZoneKind

MOST_THINGS = 100_000
"""Stations, zones and doors that are read, of each."""
MOST_LEVELS = 1000

Thing = TypeVar("Thing")


@dataclass(frozen=True, eq=False)
class FloorPlan:
    """Stations, zones and doors of a storey; `cell` is the size of what stands on a station, in m."""

    cell: float
    stations: tuple[Station, ...] = ()
    zones: tuple[Zone, ...] = ()
    doors: tuple[Door, ...] = ()
    name: str = ""
    """Of the storey, where a building has several."""
    height: float = 0.0
    """Of the floor, in m."""
    corners: tuple[float, float, float, float] | None = None
    """The least and the largest x and y of the floor, in m: x, y, x, y. None: the ground, which has no end."""


def plan_of(site: Site) -> FloorPlan:
    """Return the floor plan of a site."""
    return FloorPlan(site.grid.cell, site.stations, site.zones, site.doors)


def floor_plans_of(sim: MultiRobotSimulationCore) -> tuple[FloorPlan, ...]:
    """Return the floor plans of the building that a simulation is in, one for each storey; none without one."""
    site, building = sim.extensions.find_manager("site"), sim.extensions.find_manager("building")
    plans = (plan_of(site),) if isinstance(site, Site) else ()
    return plans + (tuple(map(_plan_of_level, building.levels)) if isinstance(building, Building) else ())


def _plan_of_level(level: Level) -> FloorPlan:
    return replace(plan_of(level.site), name=level.name, height=level.elevation, corners=_corners(level.site))


def _corners(site: Site) -> tuple[float, float, float, float]:
    """Return the rectangle around all walls; without any, around all free cells."""
    walls = site.walls
    if walls is not None and len(walls):
        cos, sin = np.abs(np.cos(walls[:, 2])), np.abs(np.sin(walls[:, 2]))
        along, across = walls[:, 3], walls[:, 4]
        points, room = walls[:, :2], np.column_stack((cos * along + sin * across, sin * along + cos * across))
    else:
        points = site.grid.positions(site.grid.free_cells)[:, :2]
        room = np.full_like(points, 0.5 * site.grid.cell)
    if not len(points):
        return (0.0, 0.0, 0.0, 0.0)
    (left, bottom), (right, top) = (points - room).min(axis=0).tolist(), (points + room).max(axis=0).tolist()
    return (left, bottom, right, top)


def plans_to_json(plans: Sequence[FloorPlan]) -> str:
    """Return floor plans as JSON. What holds in a zone is not in it, only where it is and of which kind."""
    return json.dumps({"levels": list(map(_plan_content, plans))}, separators=(",", ":"))


def _plan_content(plan: FloorPlan) -> dict[str, object]:
    """Return a floor plan as plain data, as recordings have it."""
    return {
        "name": plan.name,
        "height": plan.height,
        "corners": plan.corners,
        "cell": plan.cell,
        "stations": [[one.name, one.kind.value, one.x, one.y, one.yaw] for one in plan.stations],
        "zones": [[one.name, one.kind.value, one.corners.tolist()] for one in plan.zones],
        "doors": [[one.name, one.kind, *one.begin, *one.end] for one in plan.doors],
    }


def plans_from_json(text: bytes) -> tuple[FloorPlan, ...]:
    """Return the floor plans in JSON, whoever wrote that; raises InvalidValueError for anything else."""
    content = mapping_in(text, "a floor plan")
    # Before storeys were recorded, there was one.
    levels = content.get("levels", [content])
    if not isinstance(levels, list) or len(levels) > MOST_LEVELS:
        raise InvalidValueError(f"expected at most {MOST_LEVELS} storeys, got {brief(levels)}")
    return tuple(map(_plan, levels))


def _plan(content: object) -> FloorPlan:
    """Return a floor plan from plain data; raises InvalidValueError for what was not written by `_plan_content`."""
    if not isinstance(content, dict):
        raise InvalidValueError(f"expected a floor plan, got {brief(content)}")
    corners = content.get("corners")
    if corners is not None and (not isinstance(corners, list) or len(corners) != 4):
        raise InvalidValueError(f"expected the corners of a floor, got {brief(corners)}")
    left, bottom, right, top = map(_number, corners or (0.0,) * 4)
    return FloorPlan(
        _number(content.get("cell"), 1e-3),
        _things(content, "stations", _station),
        _things(content, "zones", _zone),
        _things(content, "doors", _door),
        text_of(content.get("name", "")),
        _number(content.get("height", 0.0)),
        None if corners is None else (left, bottom, right, top),
    )


def _things(content: Mapping[str, Any], what: str, read: Callable[..., Thing]) -> tuple[Thing, ...]:
    """Return the stations, zones or doors of a plan; raises InvalidValueError for what is none of them."""
    entries = content.get(what)
    if not isinstance(entries, list) or len(entries) > MOST_THINGS:
        raise InvalidValueError(f"expected a list of at most {MOST_THINGS} {what}, got {brief(entries)}")
    try:
        return tuple(read(*entry) for entry in entries)
    except TypeError as error:
        # Of another length, or no list at all.
        raise InvalidValueError(f"one of the {what} of a floor plan is none: {error}") from error


def _station(name: object, kind: object, x: object, y: object, yaw: object) -> Station:
    return Station(text_of(name), StationKind.parse(text_of(kind)), _number(x), _number(y), _number(yaw))


def _zone(name: object, kind: object, corners: object) -> Zone:
    if not isinstance(corners, list) or not 3 <= len(corners) <= MOST_THINGS:
        raise InvalidValueError(f"expected the corners of a zone, got {brief(corners)}")
    places = np.array([(_number(x), _number(y)) for x, y in corners])
    # A zone with a limit needs one; it is not shown.
    rule = ZoneKind.parse(text_of(kind))
    return Zone(text_of(name), rule, places, speed=1.0 if rule is ZoneKind.SPEED_LIMIT else float("inf"))


def _door(name: object, kind: object, *ends: object) -> Door:
    left, bottom, right, top = map(_number, ends)
    return Door(text_of(name), text_of(kind), (left, bottom), (right, top))


def _number(value: object, low: float = -LARGEST_EXTENT) -> float:
    return number_of(value, low, LARGEST_EXTENT)
