"""Buildings of Open-RMF: `.building.yaml` of its traffic editor, and the navigation graphs made from them."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, is_finite
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError, brief
from fleet_sim.base.files import resolve_config
from fleet_sim.base.settings import load_mapping
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.sites import site as sites
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.mercator import Mercator, projection
from fleet_sim.warehouse.sites.reading import SiteFormat, chosen_level, fail, list_of, warn_of
from fleet_sim.warehouse.sites.section import around, free_space

# Vertices of files of Open-RMF, and the lanes between them.


class Vertex(NamedTuple):
    """A vertex: its place (x, y) as in the file, its name, and its properties without the numbers of their types."""

    place: tuple[float, float]
    name: str
    properties: Mapping[str, Any]


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


def roadmap_of(given: list[Vertex], points: Floats, entries: object, path: Path, where: str) -> sites.Roadmap | None:
    """Return the roadmap of the lanes, one that may be driven both ways as two; None without lanes."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        fail(path, "must be a list of lanes", where)
    lanes: dict[tuple[int, int], float] = {}
    for index, entry in enumerate(entries):
        begin, end = indices_of(
            entry[:2] if isinstance(entry, Sequence) else (), len(given), path, f"{where}[{index}]", 2
        )
        properties = properties_of(entry[2]) if len(entry) > 2 and isinstance(entry[2], Mapping) else {}
        # 0 and a missing key both mean no limit there.
        limit = properties.get("speed_limit") or sites.NO_LIMIT
        if not isinstance(limit, (int, float)) or not limit > 0.0:
            fail(path, f"must be above 0 m/s, got {limit!r}", f"{where}[{index}].speed_limit")
        # Two equal lanes of different graphs: the slower one counts.
        for lane in ((begin, end), (end, begin)) if properties.get("bidirectional") else ((begin, end),):
            lanes[lane] = min(float(limit), lanes.get(lane, sites.NO_LIMIT))
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
    return sites.Roadmap(points[used], pairs, tuple(names), np.array(list(lanes.values())))


def indices_of(entry: object, count: int, path: Path, where: str, length: int = 0) -> list[int]:
    """Return the numbers of vertices in `entry`, `length` at least; raises ConfigError for what is none of `count`."""
    if not isinstance(entry, Sequence) or isinstance(entry, str) or (length and len(entry) < length):
        fail(path, f"must name vertices by number, got {entry!r}"[:200], where)
    for value in entry:
        # Truth is an int in Python, but no vertex.
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            fail(path, f"there is no vertex {value!r}; there are {count}, numbered from 0", where)
    return list(entry)


# From the drawings of an Open-RMF building to metres: measurements, and levels laid over each other by fiducials.


@dataclass(frozen=True, eq=False)
class DrawingFrame:
    """A similarity: point p of a drawing is `matrix @ p + offset` in m in the frame of the building."""

    matrix: Floats
    offset: Floats

    def to_metres(self, points: Floats) -> Floats:
        """Return `points` (N, 2) of the drawing in m."""
        return np.asarray(points @ self.matrix.T + self.offset)


@dataclass(frozen=True)
class EarthFrame:
    """A frame whose points are longitude and latitude in degrees; `offset` in m is where its origin is."""

    projection: Mercator
    offset: tuple[float, float]

    def to_metres(self, points: Floats) -> Floats:
        """Return `points` (N, 2) in degrees in m; raises InvalidValueError for those too far away."""
        return np.asarray(self.projection.to_metres(points) - self.offset)


def _earth_frame(building: Mapping[str, Any], path: Path) -> EarthFrame:
    """Return the frame of a building in degrees, as its parameters say; raises ConfigError."""
    entries = building.get("parameters")
    given = properties_of(entries) if isinstance(entries, Mapping) else {}
    offset = (given.get("suggested_offset_x", 0.0), given.get("suggested_offset_y", 0.0))
    if not all(map(is_finite, offset)):
        fail(path, f"suggested_offset_x, suggested_offset_y: must be numbers, got {offset!r}", "parameters")
    try:
        return EarthFrame(projection(str(given.get("generate_crs", ""))), (float(offset[0]), float(offset[1])))
    except InvalidValueError as error:
        fail(path, str(error), "parameters.generate_crs")


def frame_of(building: Mapping[str, Any], name: str, path: Path) -> DrawingFrame | EarthFrame:
    """Return the frame of the level `name`; raises ConfigError.

    Pictures have y down, the world has y up. The scale is the mean over the level's measurements. A level other than
    the reference is laid over that by the fiducials of both with equal names, if there are two or more.
    """
    system = building.get("coordinate_system", "reference_image")
    if system == "cartesian_meters":
        return DrawingFrame(np.eye(2), np.zeros(2))
    if system == "wgs84":
        return _earth_frame(building, path)
    if system != "reference_image":
        known = "reference_image, cartesian_meters or wgs84"
        fail(path, f"must be {known}, got {system!r}", "coordinate_system")
    levels = building["levels"]
    # The first level is the reference where none is named, as Open-RMF has it.
    reference = building.get("reference_level_name") or next(iter(levels))
    if not isinstance(reference, (str, int)):
        fail(path, f"must be the name of a level, got {brief(reference)}", "reference_level_name")
    if name != reference and isinstance(levels.get(reference), Mapping):
        there = _fiducials(levels[reference], path, f"levels.{reference}")
        here = _fiducials(levels[name], path, f"levels.{name}")
        common = sorted(there.keys() & here.keys())
        # One point fixes a shift only; two fix scale and turn as well.
        if len(common) >= 2:
            base = _scaled(levels[reference], str(reference), path)
            targets = base.to_metres(np.array([there[key] for key in common]))
            # y down becomes y up, so that both are right-handed and a turn is enough.
            points = np.array([here[key] for key in common]) * (1.0, -1.0)
            if not (np.ptp(points, axis=0) > 0.0).any():
                fail(path, f"those of {reference!r} and this level are all at one place", f"levels.{name}.fiducials")
            return _laid_over(points, targets)
    return _scaled(levels[name], name, path)


def _scaled(level: Mapping[str, Any], name: str, path: Path) -> DrawingFrame:
    """Return the frame whose scale the level's measurements say."""
    place = f"levels.{name}"
    vertices, scales = list_of(level, "vertices", path, place), []
    for index, entry in enumerate(list_of(level, "measurements", path, place)):
        where = f"levels.{name}.measurements[{index}]"
        # Many ways to be wrong, all of them told as one: what was expected.
        try:
            begin, end = (np.array(vertices[number][:2], np.float64) for number in entry[:2])
            distance = entry[2]["distance"]
            metres = float(distance[1] if isinstance(distance, Sequence) else distance)
        except (TypeError, ValueError, LookupError) as error:
            fail(path, f"must be [vertex, vertex, {{distance: [3, metres]}}]: {error}", where)
        pixels = float(trig.hypot(*(end - begin)))
        if not (pixels > 0.0 and 0.0 < metres < np.inf):
            fail(path, f"must be between two places and above 0 m, got {metres!r}", where)
        scales.append(metres / pixels)
    if not scales:
        fail(path, "it has no measurements, so a pixel of its drawing has no size", f"levels.{name}")
    # Several measurements of a drawing differ by how exactly they were clicked.
    scale = float(np.mean(scales))
    return DrawingFrame(np.diag((scale, -scale)), np.zeros(2))


def _fiducials(level: Mapping[str, Any], path: Path, where: str) -> dict[str, tuple[float, float]]:
    """Return the places of the fiducials that have a name."""
    found: dict[str, tuple[float, float]] = {}
    for index, entry in enumerate(list_of(level, "fiducials", path, where)):
        if not isinstance(entry, list) or len(entry) < 3 or not all(isinstance(n, (int, float)) for n in entry[:2]):
            fail(path, f"must be [x, y, name], got {brief(entry)}", f"{where}.fiducials[{index}]")
        if entry[2]:
            found[str(entry[2])] = (float(entry[0]), float(entry[1]))
    return found


def _laid_over(points: Floats, targets: Floats) -> DrawingFrame:
    """Return the similarity with the least squared distances from `points` (K, 2), y up, to `targets` (K, 2)."""
    here, there = points.mean(axis=0), targets.mean(axis=0)
    # As complex numbers a turn with a scale is one factor.
    a, b = (points - here) @ (1.0, 1.0j), (targets - there) @ (1.0, 1.0j)
    factor = complex(np.vdot(a, b) / np.vdot(a, a))
    turn = np.array([[factor.real, -factor.imag], [factor.imag, factor.real]])
    matrix = turn @ np.diag((1.0, -1.0))
    return DrawingFrame(matrix, there - turn @ here)


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
    "is_charger": sites.StationKind.CHARGE,
    "is_parking_spot": sites.StationKind.PARK,
    "pickup_dispenser": sites.StationKind.PICK,
    "dropoff_ingestor": sites.StationKind.DROP,
}
"""What the properties of a vertex make it; the first that holds counts."""


USED = {"building_name", "coordinate_system", "graphs", "levels", "lifts", "name", "parameters", "reference_level_name"}
LEVEL_USED = {
    *("doors", "drawing", "elevation", "fiducials", "floors", "lanes", "measurements", "models", "vertices", "walls")
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

    def read(self, content: Any, path: Path, level: str | None) -> sites.Site:
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
    def read_level(self, content: Any, entry: Any, vertices: list[Vertex], path: Path, name: str) -> sites.Site:
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

    def read_level(self, content: Any, entry: Any, vertices: list[Vertex], path: Path, name: str) -> sites.Site:
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
        with named_after(path, where):
            grid = free_space(floors, walls, cell_for(points), WALL)
            return sites.Site(
                # Without both endings: `office.building.yaml` is the site "office".
                path.name.split(".")[0],
                grid,
                roadmap=roadmap_of(given, points, list_of(entry, "lanes", path, where), path, f"{where}.lanes"),
                stations=_on_free(grid, _stations(given, points)),
                doors=_doors(entry, points, path, where),
                walls=boxes_of(walls, WALL),
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

    def read_level(self, content: Any, entry: Any, vertices: list[Vertex], path: Path, name: str) -> sites.Site:
        """Return a site with the lanes of the level; all space within 2 m of its vertices is free."""
        where, given = f"levels.{name}", vertices
        if not given:
            fail(path, "has no vertices", where)
        points = np.array([vertex.place for vertex in given])
        floor = around(points)
        with named_after(path, where):
            grid = free_space([floor], np.empty((0, 4)), cell_for(floor), WALL)
            roadmap = roadmap_of(given, points, list_of(entry, "lanes", path, where), path, f"{where}.lanes")
            return sites.Site(
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
def named_after(path: Path, where: str) -> Iterator[None]:
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


def _doors(entry: Mapping[str, Any], points: Floats, path: Path, where: str) -> tuple[sites.Door, ...]:
    """Return the doors of a level, turned as we count; raises ConfigError."""
    doors = []
    edges = _edges(entry, "doors", points, path, where).tolist()
    for index, (edge, raw) in enumerate(zip(edges, list_of(entry, "doors", path, where), strict=True)):
        properties = properties_of(raw[2]) if len(raw) > 2 and isinstance(raw[2], Mapping) else {}
        name = str(properties.get("name") or f"door_{index}")
        where_door = f"{where}.doors[{index}]"
        degrees = _number(properties, "motion_degrees", path, where_door, 90.0)
        # Files count turns to the right as positive, and the leaf at the first vertex by the other one.
        direction = -1 if _number(properties, "motion_direction", path, where_door, 1.0) * degrees >= 0.0 else 1
        ratio = _number(properties, "right_left_ratio", path, where_door, 1.0)
        if not ratio > 0.0:
            fail(path, f"must be above 0, got {ratio:g}", f"{where_door}.right_left_ratio")
        ends = (edge[0], edge[1]), (edge[2], edge[3])
        doors.append(sites.Door(name, str(properties.get("type", "")), *ends, abs(degrees), direction, 1.0 / ratio))
    return tuple(doors)


def _stations(given: list[Vertex], points: Floats) -> tuple[sites.Station, ...]:
    """Return the vertices whose properties make them stations, one for each name."""
    found: dict[str, sites.Station] = {}
    for index, vertex in enumerate(given):
        kinds = [kind for key, kind in _KINDS.items() if vertex.properties.get(key)]
        name = vertex.name or f"vertex_{index}"
        # The first vertex of a name wins, as in the roadmap.
        if kinds and name not in found:
            x, y = points[index].tolist()
            found[name] = sites.Station(name, kinds[0], x, y)
    return tuple(found.values())


def cell_for(points: Floats) -> float:
    """Return the size of the cells for a building with corners at `points` (N, 2) in m."""
    width, height = np.ptp(points, axis=0).tolist()
    # The finest cells that stay within the limit; the coarsest where none does.
    return next((cell for cell in CELLS if width * height <= MOST_CELLS * cell * cell), CELLS[-1])


def _on_free(grid: Grid, stations: tuple[sites.Station, ...]) -> tuple[sites.Station, ...]:
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
def boxes_of(walls: Floats, thickness: float) -> Floats:
    """Return walls (K, 4) as boxes (K, 5): x, y, yaw, and half of their length and thickness."""
    way = walls[:, 2:] - walls[:, :2]
    half = 0.5 * (trig.hypot(way[:, 0], way[:, 1]) + thickness)
    middles = 0.5 * (walls[:, :2] + walls[:, 2:])
    return np.column_stack((middles, trig.arctan2(way[:, 1], way[:, 0]), half, np.full(len(walls), 0.5 * thickness)))


BUILDING, GRAPH = BuildingFormat(), GraphFormat()


# Whole buildings of Open-RMF: all levels of a `.building.yaml`, its lifts, and what is spawned in it. Places on a
# level are in the coordinates of its drawing; all is returned in m in the frame of the building. Each graph of lanes
# is a LevelGraph of its own, with the vertices that it uses.


GRAPHS = range(9)
"""Numbers of graphs of lanes that files may have."""
OWNER = "open-rmf/"
"""Names of models may begin with it."""


def read_building(path: str | Path) -> sites.Building:
    """Return the building in the `.building.yaml` at `path`; raises ConfigError."""
    file = resolve_config(path)
    return building_of(load_mapping(file), file)


def building_of(content: Mapping[str, Any], path: Path) -> sites.Building:
    """Return the building with `content`, read from `path`; raises ConfigError."""
    try:
        return _building_of(content, path)
    except (InvalidValueError, UnknownNameError) as error:
        # What the file describes is refused by its parts, which do not know of files.
        raise ConfigError(str(error), source=str(path)) from error


def _lines(level: Mapping[str, Any], kind: str, path: Path, where: str) -> list[tuple[int, int, dict[str, Any]]]:
    """Return the lanes or walls of a level: two vertices, and properties."""
    found = []
    for index, entry in enumerate(list_of(level, kind, path, where)):
        given = entry[2] if len(entry) > 2 else {}
        if not isinstance(given, Mapping):
            fail(path, f"must be properties, got {brief(given)}", f"{where}.{kind}[{index}][2]")
        found.append((entry[0], entry[1], properties_of(given)))
    return found


def _building_of(content: Mapping[str, Any], path: Path) -> sites.Building:
    """Return a building with its levels, lifts, robots and models; raises ConfigError with the place in the file."""
    if not BUILDING.recognises(content):
        fail(path, "it is no building: it has no levels with walls or floors")
    warn_of(BUILDING.unused(content), path)
    levels, robots, models = [], [], []
    for key, entry in content["levels"].items():
        name, where = str(key), f"levels.{key}"
        # Checks all of the level, so that what follows only has to collect.
        site = BUILDING.read(content, path, key)
        frame = frame_of(content, key, path)
        vertices = vertices_of(list_of(entry, "vertices", path, where), path, f"{where}.vertices")
        points = frame.to_metres(np.array([vertex.place for vertex in vertices]).reshape(-1, 2))
        elevation = _number(entry, "elevation", path, where, 0.0)
        lanes, walls = (_lines(entry, kind, path, where) for kind in ("lanes", "walls"))
        # Lanes that name no graph are of graph 0.
        graphs = tuple(
            _graph(str(number), vertices, points, [lane for lane in lanes if lane[2].get("graph_idx", 0) == number])
            for number in GRAPHS
        )
        used = tuple(graph for graph in graphs if graph.edges)
        levels.append(sites.Level(name, elevation, site, used, _graph("WallGraph", vertices, points, walls)))
        robots += _robots(vertices, points, lanes, name, elevation)
        models += _models(entry, frame, path, where, name, elevation)
    lifts = content.get("lifts") or {}
    if not isinstance(lifts, Mapping):
        fail(path, f"must be a mapping, got {brief(lifts)}", "lifts")
    known = [level.name for level in levels]
    shafts = tuple(_lift(str(key), lift, content, known, path) for key, lift in lifts.items())
    return sites.Building(
        str(content.get("name") or path.name.split(".")[0]), tuple(levels), shafts, tuple(robots), tuple(models)
    )


def _graph(
    name: str, vertices: Sequence[Vertex], points: Floats, edges: Sequence[tuple[int, int, Mapping[str, Any]]]
) -> sites.LevelGraph:
    """Return the graph of `edges`, with the vertices that they use in the order in which they name them."""
    # Vertices are numbered in the order in which edges name them; dicts keep it.
    number: dict[int, int] = {}
    for edge in edges:
        for end in edge[:2]:
            number.setdefault(end, len(number))
    kept = tuple((number[begin], number[end], _plain(properties)) for begin, end, properties in edges)
    used = list(number)
    names = tuple(vertices[index].name for index in used)
    return sites.LevelGraph(
        name, points[used].reshape(-1, 2), names, tuple(_plain(vertices[i].properties) for i in used), kept
    )


def _plain(properties: Mapping[str, Any]) -> dict[str, sites.Value]:
    return {key: value for key, value in properties.items() if isinstance(value, (str, int, float, bool))}


def _robots(
    vertices: Sequence[Vertex],
    points: Floats,
    lanes: Sequence[tuple[int, int, Mapping[str, Any]]],
    level: str,
    z: float,
) -> list[sites.PlacedThing]:
    """Return the robots that vertices spawn, turned along the first lane from or to there."""
    found = []
    for index, vertex in enumerate(vertices):
        kind = vertex.properties.get("spawn_robot_type")
        name = vertex.properties.get("spawn_robot_name")
        if kind and name:
            yaw = 0.0
            for begin, end, properties in lanes:
                if index in (begin, end):
                    way = points[end] - points[begin]
                    yaw = trig.atan2_of(float(way[1]), float(way[0]))
                    yaw += math.pi if properties.get("orientation") == "backward" else 0.0
                    break
            x, y = points[index].tolist()
            found.append(sites.PlacedThing(str(name), _kind(str(kind)), level, x, y, z, math.remainder(yaw, math.tau)))
    return found


def _kind(name: str) -> str:
    return name[len(OWNER) :] if name.lower().startswith(OWNER) else name


def _models(
    entry: Mapping[str, Any], frame: DrawingFrame | EarthFrame, path: Path, where: str, level: str, elevation: float
) -> list[sites.PlacedThing]:
    """Return the things on one level, in m in the frame of the building; raises ConfigError."""
    found = []
    for index, model in enumerate(list_of(entry, "models", path, where)):
        place = f"{where}.models[{index}]"
        if not isinstance(model, Mapping):
            fail(path, f"must be a mapping, got {brief(model)}", place)
        x, y, z, yaw = (_number(model, key, path, place, 0.0) for key in ("x", "y", "z", "yaw"))
        ((x, y),) = frame.to_metres(np.array([(x, y)])).tolist()
        name, kind = str(model.get("name", "")), str(model.get("model_name", ""))
        turn = math.remainder(yaw, math.tau)
        found.append(sites.PlacedThing(name, kind, level, x, y, elevation + z, turn, bool(model.get("static", False))))
    return found


def _lift(name: str, entry: Any, content: Mapping[str, Any], levels: Sequence[str], path: Path) -> sites.LiftShaft:
    """Return a lift; raises ConfigError for levels and doors that the building does not have."""
    where = f"lifts.{name}"
    if not isinstance(entry, Mapping):
        fail(path, f"must be a mapping, got {brief(entry)}", where)
    reference = str(entry.get("reference_floor_name") or content.get("reference_level_name") or levels[0])
    stops = entry.get("level_doors") or {}
    doors = entry.get("doors") or {}
    if not isinstance(stops, Mapping) or not isinstance(doors, Mapping):
        fail(path, "doors and level_doors must be mappings", where)
    for level in (reference, *map(str, stops)):
        if level not in levels:
            fail(path, f"there is no level {level!r}; there are {', '.join(levels)}", where)
    # A lift is drawn on one level, in the coordinates of that drawing.
    raw = np.array([[_number(entry, "x", path, where), _number(entry, "y", path, where)]])
    ((x, y),) = frame_of(content, reference, path).to_metres(raw).tolist()
    ways = tuple(_lift_door(str(key), door, path, f"{where}.doors.{key}") for key, door in doors.items())
    for level, names in stops.items():
        if not isinstance(names, list) or any(str(one) not in map(str, doors) for one in names):
            fail(path, f"must be a list of its doors, got {brief(names)}", f"{where}.level_doors.{level}")
    return sites.LiftShaft(
        name,
        x,
        y,
        _number(entry, "yaw", path, where, 0.0),
        _number(entry, "width", path, where),
        _number(entry, "depth", path, where),
        ways,
        {str(level): tuple(map(str, names)) for level, names in stops.items()},
        str(entry.get("initial_floor_name") or next(iter(stops), "")),
        bool(entry.get("plugins", True)),
    )


def _lift_door(name: str, entry: Any, path: Path, where: str) -> sites.ShaftDoor:
    if not isinstance(entry, Mapping):
        fail(path, f"must be a mapping, got {brief(entry)}", where)
    x, y, width = (_number(entry, key, path, where) for key in ("x", "y", "width"))
    yaw = _number(entry, "motion_axis_orientation", path, where, 0.0)
    return sites.ShaftDoor(name, x, y, width, yaw, int(_number(entry, "door_type", path, where, 0.0)))


def _number(entry: Mapping[str, Any], key: str, path: Path, where: str, default: float | None = None) -> float:
    """Return the number under `key`; raises ConfigError for what is none, also truth, which is an int in Python."""
    value = entry.get(key, default)
    if isinstance(value, bool) or not is_finite(value):
        fail(path, f"must be a number, got {brief(value)}", f"{where}.{key}")
    return float(value)
