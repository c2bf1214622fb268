"""A picture of a site, from above."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bytes, Floats, Ints
from fleet_sim.base.errors import InvalidValueError, brief
from fleet_sim.base.limits import LARGEST_EXTENT, mapping_in, number_of, text_of
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.sites.site import Building, Door, Level, Site, Station, StationKind, Zone, ZoneKind

if TYPE_CHECKING:
    # Loading it takes longer than drawing a site.
    from fleet_sim.simulation import MultiRobotSimulationCore

# FloorPlan: what is seen of a site on its floor, which is kept with recordings.


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


# Colors of what is on floors, in views, films and pictures of sites alike.


STATION_COLORS = {
    StationKind.PICK: (46, 160, 95),
    StationKind.DROP: (38, 116, 217),
    StationKind.CHARGE: (240, 180, 40),
    StationKind.PARK: (140, 148, 160),
    StationKind.WORKSTATION: (155, 89, 182),
}
NO_GO_COLOR, OTHER_ZONE_COLOR, DOOR_COLOR = (222, 42, 42), (240, 180, 40), (200, 120, 40)
PATH_COLOR, PATH_ON_FILM = (128, 172, 232), (24, 78, 160)
"""Films have a darker floor than pages."""
SMALLEST_STATION, LARGEST_STATION = 0.25, 0.6
"""Half the size in m, whatever the size of the cells is: one of 5 cm would not be seen."""


def zone_color(kind: ZoneKind) -> tuple[int, int, int]:
    """Return the color of zones of a kind."""
    return NO_GO_COLOR if kind is ZoneKind.NO_GO else OTHER_ZONE_COLOR


def station_half(cell: float) -> float:
    """Return half the size in m of stations where cells have the size `cell`."""
    return min(max(0.45 * cell, SMALLEST_STATION), LARGEST_STATION)


FREE, BLOCKED, LANE = (250, 250, 247), (70, 74, 82), (190, 200, 214)
ZONES = {ZoneKind.SPEED_LIMIT: (255, 236, 179), ZoneKind.ONE_WAY: (209, 233, 252), ZoneKind.NO_GO: (248, 205, 205)}
START, WAY = (192, 57, 43), (214, 40, 57)
_LONGEST = 1600


def draw_site(site: Site, pixels: int | None = None, *, way: Floats | None = None) -> Bytes:
    """Return a picture (H, W, 3) of `site` with `pixels` per cell; by default as many as make it 1,600 pixels long.

    `way` (K, 2) in m, such as the points of a route, is drawn on top.
    """
    grid = site.grid
    # From one pixel per cell for large maps to 32 for small ones.
    scale = pixels or int(np.clip(_LONGEST // max(grid.height, grid.width), 1, 32))
    cells = np.where(grid.free_mask.ravel()[:, None], FREE, BLOCKED).astype(np.uint8)
    middles = grid.middles
    for zone in site.zones:
        # Later zones cover earlier ones, as they are listed; walls stay visible.
        cells[zone.contains(middles) & grid.free_mask.ravel()] = ZONES[zone.kind]
    picture = cells.reshape(grid.height, grid.width, 3).repeat(scale, axis=0).repeat(scale, axis=1)
    if scale >= 8:
        # Lines between the cells, where they do not hide them.
        picture[scale - 1 :: scale] = (picture[scale - 1 :: scale] * 0.93).astype(np.uint8)
        picture[:, scale - 1 :: scale] = (picture[:, scale - 1 :: scale] * 0.93).astype(np.uint8)
    if site.roadmap is not None:
        ends = _pixels(site, site.roadmap.positions, scale)
        for begin, end in site.roadmap.lanes.tolist():
            _line(picture, ends[begin], ends[end], LANE, max(scale // 6, 1))
    _dots(picture, _pixels(site, grid.positions(site.starts), scale), START, scale)
    for station in site.stations:
        _dots(picture, _pixels(site, np.array([[station.x, station.y]]), scale), STATION_COLORS[station.kind], scale)
    if way is not None:
        bends = _pixels(site, way, scale)
        for begin, end in pairwise(bends):
            _line(picture, begin, end, WAY, max(scale // 4, 3))
        _dots(picture, bends, WAY, max(scale // 2, 12))
    return picture


def _pixels(site: Site, points: Floats, scale: int) -> Ints:
    """Return the pixels (N, 2), row and column, of `points` (N, 2) in m."""
    grid = site.grid
    own = grid.to_own(points) / grid.cell * scale
    # Rows count downwards in a picture, and y upwards in the site.
    return np.stack((grid.height * scale - own[:, 1], own[:, 0]), axis=1).astype(np.int64)


def _dots(picture: Bytes, places: Ints, color: tuple[int, int, int], scale: int) -> None:
    half = max(int(0.36 * scale), 1) if scale > 2 else 0
    for row, column in places.tolist():
        picture[max(row - half, 0) : row + half + 1, max(column - half, 0) : column + half + 1] = color


def _line(picture: Bytes, begin: Ints, end: Ints, color: tuple[int, int, int], width: int) -> None:
    """Draw a straight line with smooth edges, `width` pixels wide."""
    half = 0.5 * width
    # Only the part of the picture around the line is looked at; nodes of a roadmap may lie outside of the picture.
    low = np.clip(np.minimum(begin, end) - width, 0, picture.shape[:2])
    high = np.clip(np.maximum(begin, end) + width + 1, 0, picture.shape[:2])
    rows, columns = np.ogrid[low[0] : high[0], low[1] : high[1]]
    along, length = end - begin, max(trig.hypot_of(*map(float, end - begin)), 1e-9)
    # Of each pixel around: how far along the line the nearest point of it is, and how far away.
    share = np.clip(((rows - begin[0]) * along[0] + (columns - begin[1]) * along[1]) / length**2, 0.0, 1.0)
    distance = trig.hypot(rows - begin[0] - share * along[0], columns - begin[1] - share * along[1])
    # A pixel on the edge is covered in part, and takes as much of the color.
    cover = np.clip(half + 0.5 - distance, 0.0, 1.0)[..., None]
    part = picture[low[0] : high[0], low[1] : high[1]]
    part[:] = (part + cover * (np.array(color) - part)).round().astype(np.uint8)
