"""Buildings of Open-RMF: `.building.yaml` of its traffic editor, and the navigation graphs made from them."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, is_finite
from fleet_sim.errors import ConfigError, FleetSimError, brief
from fleet_sim.sites.formats.rmf_frames import frame_of
from fleet_sim.sites.formats.rmf_vertices import Vertex, indices_of, properties_of, roadmap_of, vertices_of
from fleet_sim.sites.formats.site_format import SiteFormat, chosen_level, fail, list_of
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.raster import around, free_space
from fleet_sim.sites.site import Door, Site
from fleet_sim.sites.stations import Station, StationKind
from fleet_sim.spatial import trigonometry as trig


def levels_of(content: Any) -> list[Mapping[str, Any]]:
    """Return the levels of a file that may be anything; none where there are no mappings."""
    levels = content.get("levels") if isinstance(content, Mapping) else None
    return [level for level in levels.values() if isinstance(level, Mapping)] if isinstance(levels, Mapping) else []


def names_elsewhere(content: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the named vertices on other levels than `name`, and on which each is.

    What is wrong on those levels is said when they are read.
    """
    found: dict[str, str] = {}
    for level, entry in content["levels"].items():
        vertices = entry.get("vertices") if isinstance(entry, Mapping) and level != name else None
        for vertex in vertices if isinstance(vertices, list) else []:
            # Buildings have the name after x, y and z, graphs among the properties.
            given = vertex[2:] if isinstance(vertex, list) else []
            names = [part.get("name") if isinstance(part, Mapping) else part for part in given]
            found.update({text: str(level) for text in names if isinstance(text, str) and text})
    return found


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


USED = {"building_name", "coordinate_system", "graphs", "levels", "lifts", "name", "parameters", "reference_level_name"}
LEVEL_USED = {
    "doors",
    "drawing",
    "elevation",
    "fiducials",
    "floors",
    "lanes",
    "measurements",
    "models",
    "vertices",
    "walls",
}
VERTEX_USED = {
    *(*_KINDS, "name", "spawn_robot_name", "spawn_robot_type"),
    # As they stand in the building map that is published.
    *("dock_name", "is_cleaning_zone", "is_holding_point", "mutex"),
    # Which lift a vertex is in follows from its place.
    "lift_cabin",
}
LANE_USED = {"bidirectional", "graph_idx", "mutex", "orientation", "speed_limit"}
"""Keys of files, levels, vertices and lanes that have an effect here or on a topic."""
SHOWN = {"constraints", "features", "flattened_x_offset", "flattened_y_offset", "layers"}
"""What only the traffic editor shows."""


class OpenRmfFormat(SiteFormat):
    """Base of the formats of Open-RMF, which have levels with vertices."""

    suffixes = (".yaml", ".yml")
    has_levels = True

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return one level as a site; raises ConfigError."""
        name, entry = chosen_level(path, content["levels"], level)
        where = f"levels.{name}"
        vertices = vertices_of(list_of(entry, "vertices", path, where), path, f"{where}.vertices")
        return self.read_level(content, entry, vertices, path, name)

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return the keys of the file, its levels, vertices and lanes that nothing here or in the ROS topics uses."""
        found = {"": _beside(content, USED | SHOWN)}
        for name, level in content["levels"].items():
            if not isinstance(level, Mapping):
                continue
            place = f"levels.{name}"
            found[place] = _beside(level, LEVEL_USED | SHOWN)
            for key, used in (("vertices", VERTEX_USED), ("lanes", LANE_USED)):
                entries = level.get(key)
                given = (
                    [one[-1] for one in entries if isinstance(one, list) and one] if isinstance(entries, list) else []
                )
                names: set[str] = set().union(*(set(map(str, one)) for one in given if isinstance(one, Mapping)))
                found[f"{place}.{key}"] = sorted(names - used)
        return {place: names for place, names in found.items() if names}

    @abstractmethod
    def read_level(self, content: Any, entry: Any, vertices: list[Vertex], path: Path, name: str) -> Site:
        """Return the level `name`, which `entry` describes, as a site; raises ConfigError."""


class BuildingFormat(OpenRmfFormat):
    """A building of Open-RMF's traffic editor."""

    doc = "Open-RMF building"

    def recognises(self, content: Any) -> bool:
        """Return whether it has levels with walls or floors, or says how its drawings become metres."""
        levels = levels_of(content)
        # Buildings without walls have the latter; taken for graphs, their degrees or pixels would be metres.
        return any("walls" in level or "floors" in level for level in levels) or (
            bool(levels) and "coordinate_system" in content
        )

    def read_level(self, content: Any, entry: Any, vertices: list[Vertex], path: Path, name: str) -> Site:
        """Return a site with the walls, floors, doors and lanes of the level."""
        where, given = f"levels.{name}", vertices
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


class GraphFormat(OpenRmfFormat):
    """A navigation graph of Open-RMF: lanes and vertices in m, without walls."""

    doc = "Open-RMF navigation graph"

    def recognises(self, content: Any) -> bool:
        """Return whether it has levels with lanes and nothing of a building."""
        levels = levels_of(content)
        # What says how its drawings become metres is a building: its points are degrees or pixels.
        return any("lanes" in level and "walls" not in level for level in levels) and "coordinate_system" not in content

    def read_level(self, content: Any, entry: Any, vertices: list[Vertex], path: Path, name: str) -> Site:
        """Return a site with the lanes of the level; all space within 2 m of its vertices is free."""
        where, given = f"levels.{name}", vertices
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


def _beside(content: Mapping[str, Any], used: set[str]) -> list[str]:
    return sorted(set(map(str, content)) - used)


@contextmanager
def _named_after(path: Path, where: str) -> Iterator[None]:
    """Turn errors of sites and grids, which know no file, into ConfigErrors that name file and place."""
    try:
        yield
    except ConfigError:
        raise
    except FleetSimError as error:
        raise ConfigError(str(error), source=str(path), path=where) from error


def _floor(floor: object, count: int, path: Path, where: str) -> list[int]:
    if not isinstance(floor, Mapping):
        fail(path, f"must be a mapping with vertices, got {brief(floor)}", where)
    corners = indices_of(floor.get("vertices"), count, path, f"{where}.vertices")
    if len(corners) < 3:
        fail(path, f"a floor has at least 3 corners, got {len(corners)}", f"{where}.vertices")
    return corners


def _edges(entry: Mapping[str, Any], key: str, points: Floats, path: Path, where: str) -> Floats:
    """Return the edges (K, 4) under `key`, from x, y to x, y in m."""
    edges = [
        indices_of(edge[:2] if isinstance(edge, Sequence) else (), len(points), path, f"{where}.{key}[{index}]", 2)
        for index, edge in enumerate(list_of(entry, key, path, where))
    ]
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return np.concatenate((points[pairs[:, 0]], points[pairs[:, 1]]), axis=1)


def _doors(entry: Mapping[str, Any], points: Floats, path: Path, where: str) -> tuple[Door, ...]:
    """Return the doors of a level, turned as we count; raises ConfigError."""
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
    """Return the vertices whose properties make them stations, one for each name."""
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
