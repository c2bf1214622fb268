"""Buildings of Open-RMF: `.building.yaml` of its traffic editor, and the navigation graphs made from them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, is_finite
from fleet_sim.errors import ConfigError, FleetSimError, brief
from fleet_sim.sites.formats.base import SiteFormat, chosen_level, fail, list_of
from fleet_sim.sites.formats.rmf_frames import frame_of
from fleet_sim.sites.formats.rmf_levels import levels_of, names_elsewhere
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.raster import around, free_space
from fleet_sim.sites.roadmap import NO_LIMIT, Roadmap
from fleet_sim.sites.site import Door, Site
from fleet_sim.sites.stations import Station, StationKind
from fleet_sim.spatial import trigonometry as trig

log = logging.getLogger(__name__)

CELLS = (0.1, 0.2, 0.25, 0.5, 1.0)
"""Sizes in m of the cells made from walls and floors: the first that gives no more than MOST_CELLS.

Doors need small cells: a gap of 0.9 m has room for few of 0.25 m.
"""
MOST_CELLS = 400_000
WALL = 0.1
"""Thickness of walls in m, as Open-RMF builds them."""

_KINDS = {
    "is_charger": StationKind.CHARGE,
    "is_parking_spot": StationKind.PARK,
    "pickup_dispenser": StationKind.PICK,
    "dropoff_ingestor": StationKind.DROP,
}
"""What the properties of a vertex make it; the first that holds counts."""


class BuildingFormat(SiteFormat):
    """A building of Open-RMF's traffic editor."""

    suffixes = (".yaml", ".yml")
    doc = "Open-RMF building"
    has_levels = True

    def recognises(self, content: Any) -> bool:
        """Return whether it has levels with walls or floors, or says how its drawings become metres."""
        levels = levels_of(content)
        # Buildings without walls have the latter; taken for graphs, their degrees or pixels would be metres.
        return any("walls" in level or "floors" in level for level in levels) or (
            bool(levels) and "coordinate_system" in content
        )

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return one level as a site; raises ConfigError."""
        name, entry = chosen_level(path, content["levels"], level)
        where = f"levels.{name}"
        given = vertices_of(list_of(entry, "vertices", path, where), path, f"{where}.vertices")
        frame = frame_of(content, name, path)
        # Pixels of a drawing, with y down, become metres with y up.
        points = frame.to_metres(np.array([vertex.place for vertex in given]).reshape(-1, 2))
        walls = _edges(entry, "walls", points, path, where)
        floors = [
            points[_floor(floor, len(points), path, f"{where}.floors[{index}]")]
            for index, floor in enumerate(list_of(entry, "floors", path, where))
        ]
        if not floors and not len(walls):
            # A campus in degrees has lanes only; in a drawing something was forgotten.
            if content.get("coordinate_system") != "wgs84" or not len(points):
                fail(path, "has neither floors nor walls, so nothing says where robots may drive", where)
            floors = [around(points)]
        with _named_after(path, where):
            grid = free_space(floors, walls, _cell_for(points), WALL)
            return Site(
                # Without both endings: `office.building.yaml` is the site "office".
                path.name.split(".")[0],
                grid,
                roadmap=roadmap_of(given, points, list_of(entry, "lanes", path, where), path, f"{where}.lanes"),
                stations=_on_free(grid, _stations(given, points)),
                doors=_doors(entry, points, path, where),
                walls=_boxes(walls),
                elsewhere=names_elsewhere(content, name),
            )


class GraphFormat(SiteFormat):
    """A navigation graph of Open-RMF: lanes and vertices in m, without walls."""

    suffixes = (".yaml", ".yml")
    doc = "Open-RMF navigation graph"
    has_levels = True

    def recognises(self, content: Any) -> bool:
        """Return whether it has levels with lanes and nothing of a building."""
        levels = levels_of(content)
        # What says how its drawings become metres is a building: its points are degrees or pixels.
        return any("lanes" in level and "walls" not in level for level in levels) and "coordinate_system" not in content

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return one level as a site; all space within 2 m of its vertices is free. Raises ConfigError."""
        name, entry = chosen_level(path, content["levels"], level)
        where = f"levels.{name}"
        given = vertices_of(list_of(entry, "vertices", path, where), path, f"{where}.vertices")
        if not given:
            fail(path, "has no vertices", where)
        points = np.array([vertex.place for vertex in given])
        floor = around(points)
        with _named_after(path, where):
            grid = free_space([floor], np.empty((0, 4)), _cell_for(floor), WALL)
            roadmap = roadmap_of(given, points, list_of(entry, "lanes", path, where), path, f"{where}.lanes")
            return Site(
                str(content.get("building_name") or path.name.split(".")[0]),
                grid,
                roadmap=roadmap,
                stations=_stations(given, points),
                walls=np.empty((0, 5)),
                elsewhere=names_elsewhere(content, name),
            )


@contextmanager
def _named_after(path: Path, where: str) -> Iterator[None]:
    """Turn errors of sites and grids, which know no file, into ConfigErrors that name file and place."""
    try:
        yield
    except ConfigError:
        raise
    except FleetSimError as error:
        raise ConfigError(str(error), source=str(path), path=where) from error


class Vertex:
    """A vertex: its place (x, y) as in the file, its name, and its properties without the numbers of their types."""

    def __init__(self, place: tuple[float, float], name: str, properties: Mapping[str, Any]) -> None:
        self.place = place
        self.name = name
        self.properties = properties


def vertices_of(entries: object, path: Path, where: str) -> list[Vertex]:
    """Return vertices as buildings, [x, y, z, name, {}], and graphs, [x, y, {}], have them; raises ConfigError."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        fail(path, f"must be a list of vertices, got {entries!r}"[:200], where)
    found = []
    for index, entry in enumerate(entries):
        numbers = entry[:2] if isinstance(entry, Sequence) and not isinstance(entry, str) else ()
        # Checked by `is_finite`: YAML knows .nan and .inf, and text that looks like a number.
        if len(numbers) < 2 or not all(map(is_finite, numbers)):
            fail(path, f"must begin with x and y, got {entry!r}"[:200], f"{where}[{index}]")
        properties = properties_of(entry[-1]) if isinstance(entry[-1], Mapping) else {}
        # Buildings have the name as a value of its own, graphs among the properties.
        name = entry[3] if len(entry) > 3 and isinstance(entry[3], str) else properties.get("name", "")
        found.append(Vertex((float(numbers[0]), float(numbers[1])), str(name), properties))
    return found


def properties_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties by name. Buildings write [type, value], graphs the value alone."""
    return {
        str(key): value[1] if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2 else value
        for key, value in entry.items()
    }


def roadmap_of(given: list[Vertex], points: Floats, entries: object, path: Path, where: str) -> Roadmap | None:
    """Return the roadmap of the lanes, one that may be driven both ways as two; None without lanes."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        fail(path, "must be a list of lanes", where)
    lanes: dict[tuple[int, int], float] = {}
    for index, entry in enumerate(entries):
        begin, end = _indices(
            entry[:2] if isinstance(entry, Sequence) else (), len(given), path, f"{where}[{index}]", 2
        )
        properties = properties_of(entry[2]) if len(entry) > 2 and isinstance(entry[2], Mapping) else {}
        # 0 and a missing key both mean no limit there.
        limit = properties.get("speed_limit") or NO_LIMIT
        if not isinstance(limit, (int, float)) or not limit > 0.0:
            fail(path, f"must be above 0 m/s, got {limit!r}", f"{where}[{index}].speed_limit")
        # Two equal lanes of different graphs: the slower one counts.
        for lane in ((begin, end), (end, begin)) if properties.get("bidirectional") else ((begin, end),):
            lanes[lane] = min(float(limit), lanes.get(lane, NO_LIMIT))
    if not lanes:
        return None
    # The other vertices are corners of walls and floors.
    used = sorted({node for lane in lanes for node in lane})
    number = {node: index for index, node in enumerate(used)}
    names: list[str] = []
    for node in used:
        # Names need not be unique in a building, where each belongs to a level or a graph.
        name = given[node].name
        names.append(name if name not in names else "")
    pairs = np.array([(number[begin], number[end]) for begin, end in lanes], np.int64)
    return Roadmap(points[used], pairs, tuple(names), np.array(list(lanes.values())))


def _floor(floor: object, count: int, path: Path, where: str) -> list[int]:
    if not isinstance(floor, Mapping):
        fail(path, f"must be a mapping with vertices, got {brief(floor)}", where)
    corners = _indices(floor.get("vertices"), count, path, f"{where}.vertices")
    if len(corners) < 3:
        fail(path, f"a floor has at least 3 corners, got {len(corners)}", f"{where}.vertices")
    return corners


def _indices(entry: object, count: int, path: Path, where: str, length: int = 0) -> list[int]:
    if not isinstance(entry, Sequence) or isinstance(entry, str) or (length and len(entry) < length):
        fail(path, f"must name vertices by number, got {entry!r}"[:200], where)
    for value in entry:
        # Truth is an int in Python, but no vertex.
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            fail(path, f"there is no vertex {value!r}; there are {count}, numbered from 0", where)
    return list(entry)


def _edges(entry: Mapping[str, Any], key: str, points: Floats, path: Path, where: str) -> Floats:
    """Return the edges (K, 4) under `key`, from x, y to x, y in m."""
    edges = [
        _indices(edge[:2] if isinstance(edge, Sequence) else (), len(points), path, f"{where}.{key}[{index}]", 2)
        for index, edge in enumerate(list_of(entry, key, path, where))
    ]
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return np.concatenate((points[pairs[:, 0]], points[pairs[:, 1]]), axis=1)


def _doors(entry: Mapping[str, Any], points: Floats, path: Path, where: str) -> tuple[Door, ...]:
    doors = []
    edges = _edges(entry, "doors", points, path, where).tolist()
    for index, (edge, raw) in enumerate(zip(edges, list_of(entry, "doors", path, where), strict=True)):
        properties = properties_of(raw[2]) if len(raw) > 2 and isinstance(raw[2], Mapping) else {}
        name = str(properties.get("name") or f"door_{index}")
        where_door = f"{where}.doors[{index}]"
        degrees = _number(properties, "motion_degrees", 90.0, path, where_door)
        # Files count turns to the right as positive, and the leaf at the first vertex by the other one.
        direction = -1 if _number(properties, "motion_direction", 1.0, path, where_door) * degrees >= 0.0 else 1
        ratio = _number(properties, "right_left_ratio", 1.0, path, where_door)
        if not ratio > 0.0:
            fail(path, f"must be above 0, got {ratio:g}", f"{where_door}.right_left_ratio")
        ends = (edge[0], edge[1]), (edge[2], edge[3])
        doors.append(Door(name, str(properties.get("type", "")), *ends, abs(degrees), direction, 1.0 / ratio))
    return tuple(doors)


def _number(properties: Mapping[str, Any], key: str, default: float, path: Path, where: str) -> float:
    value = properties.get(key, default)
    if isinstance(value, bool) or not is_finite(value):
        fail(path, f"must be a number, got {brief(value)}", f"{where}.{key}")
    return float(value)


def _stations(given: list[Vertex], points: Floats) -> tuple[Station, ...]:
    found: dict[str, Station] = {}
    for index, vertex in enumerate(given):
        kinds = [kind for key, kind in _KINDS.items() if vertex.properties.get(key)]
        name = vertex.name or f"vertex_{index}"
        # The first vertex of a name wins, as in the roadmap.
        if kinds and name not in found:
            x, y = points[index].tolist()
            found[name] = Station(name, kinds[0], x, y)
    return tuple(found.values())


def _cell_for(points: Floats) -> float:
    """Return the size of the cells for a building with corners at `points` (N, 2) in m."""
    width, height = np.ptp(points, axis=0).tolist()
    # The finest cells that stay within the limit; the coarsest where none does.
    return next((cell for cell in CELLS if width * height <= MOST_CELLS * cell * cell), CELLS[-1])


def _on_free(grid: Grid, stations: tuple[Station, ...]) -> tuple[Station, ...]:
    """Return the stations on free cells; one in a wall or outside of the floors is left out with a warning."""
    places = np.array([(station.x, station.y) for station in stations]).reshape(-1, 2)
    free = grid.is_free(grid.cells_at(places)).tolist()
    for station, is_free in zip(stations, free, strict=True):
        if not is_free:
            log.warning(
                "station %r at (%.2f, %.2f) is not on free space and left out", station.name, station.x, station.y
            )
    return tuple(station for station, is_free in zip(stations, free, strict=True) if is_free)


# Half a thickness longer at both ends, so that walls that meet leave no gap.
def _boxes(walls: Floats) -> Floats:
    """Return walls (K, 4) as boxes (K, 5): x, y, yaw, and half of their length and thickness."""
    way = walls[:, 2:] - walls[:, :2]
    half = 0.5 * trig.hypot(way[:, 0], way[:, 1]) + 0.5 * WALL
    middles = 0.5 * (walls[:, :2] + walls[:, 2:])
    return np.column_stack((middles, trig.arctan2(way[:, 1], way[:, 0]), half, np.full(len(walls), 0.5 * WALL)))


BUILDING, GRAPH = BuildingFormat(), GraphFormat()
