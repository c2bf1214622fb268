"""Whole buildings of Open-RMF: all levels of a `.building.yaml`, its lifts, and what is spawned in it.

Places on a level are in the coordinates of its drawing; all is returned in m in the frame of the building. Each graph
of lanes is a LevelGraph of its own, with the vertices that it uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, is_finite
from fleet_sim.errors import ConfigError, InvalidValueError, UnknownNameError, brief
from fleet_sim.paths import resolve_config
from fleet_sim.settings import load_mapping
from fleet_sim.sites.building import Building, Level, LevelGraph, LiftShaft, PlacedThing, ShaftDoor, Value
from fleet_sim.sites.formats.rmf import BUILDING
from fleet_sim.sites.formats.rmf_frames import DrawingFrame, EarthFrame, frame_of
from fleet_sim.sites.formats.rmf_vertices import Vertex, properties_of, vertices_of
from fleet_sim.sites.formats.site_format import fail, list_of, warn_of
from fleet_sim.spatial import trigonometry as trig

GRAPHS = range(9)
"""Numbers of graphs of lanes that files may have."""
OWNER = "open-rmf/"
"""Names of models may begin with it."""


def read_building(path: str | Path) -> Building:
    """Return the building in the `.building.yaml` at `path`; raises ConfigError."""
    file = resolve_config(path)
    return building_of(load_mapping(file), file)


def is_building(content: Any) -> bool:
    """Return whether `content` is that of a building."""
    return BUILDING.recognises(content)


def building_of(content: Mapping[str, Any], path: Path) -> Building:
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


def _building_of(content: Mapping[str, Any], path: Path) -> Building:
    """Return a building with its levels, lifts, robots and models; raises ConfigError with the place in the file."""
    if not is_building(content):
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
        levels.append(Level(name, elevation, site, used, _graph("WallGraph", vertices, points, walls)))
        robots += _robots(vertices, points, lanes, name, elevation)
        models += _models(entry, frame, path, where, name, elevation)
    lifts = content.get("lifts") or {}
    if not isinstance(lifts, Mapping):
        fail(path, f"must be a mapping, got {brief(lifts)}", "lifts")
    known = [level.name for level in levels]
    shafts = tuple(_lift(str(key), lift, content, known, path) for key, lift in lifts.items())
    return Building(
        str(content.get("name") or path.name.split(".")[0]), tuple(levels), shafts, tuple(robots), tuple(models)
    )


def _graph(
    name: str, vertices: Sequence[Vertex], points: Floats, edges: Sequence[tuple[int, int, Mapping[str, Any]]]
) -> LevelGraph:
    """Return the graph of `edges`, with the vertices that they use in the order in which they name them."""
    # Vertices are numbered in the order in which edges name them; dicts keep it.
    number: dict[int, int] = {}
    for edge in edges:
        for end in edge[:2]:
            number.setdefault(end, len(number))
    kept = tuple((number[begin], number[end], _plain(properties)) for begin, end, properties in edges)
    used = list(number)
    names = tuple(vertices[index].name for index in used)
    return LevelGraph(
        name, points[used].reshape(-1, 2), names, tuple(_plain(vertices[i].properties) for i in used), kept
    )


def _plain(properties: Mapping[str, Any]) -> dict[str, Value]:
    return {key: value for key, value in properties.items() if isinstance(value, (str, int, float, bool))}


def _robots(
    vertices: Sequence[Vertex],
    points: Floats,
    lanes: Sequence[tuple[int, int, Mapping[str, Any]]],
    level: str,
    z: float,
) -> list[PlacedThing]:
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
            found.append(PlacedThing(str(name), _kind(str(kind)), level, x, y, z, math.remainder(yaw, math.tau)))
    return found


def _kind(name: str) -> str:
    return name[len(OWNER) :] if name.lower().startswith(OWNER) else name


def _models(
    entry: Mapping[str, Any], frame: DrawingFrame | EarthFrame, path: Path, where: str, level: str, elevation: float
) -> list[PlacedThing]:
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
        found.append(PlacedThing(name, kind, level, x, y, elevation + z, turn, bool(model.get("static", False))))
    return found


def _lift(name: str, entry: Any, content: Mapping[str, Any], levels: Sequence[str], path: Path) -> LiftShaft:
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
    return LiftShaft(
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


def _lift_door(name: str, entry: Any, path: Path, where: str) -> ShaftDoor:
    if not isinstance(entry, Mapping):
        fail(path, f"must be a mapping, got {brief(entry)}", where)
    x, y, width = (_number(entry, key, path, where) for key in ("x", "y", "width"))
    yaw = _number(entry, "motion_axis_orientation", path, where, 0.0)
    return ShaftDoor(name, x, y, width, yaw, int(_number(entry, "door_type", path, where, 0.0)))


def _number(entry: Mapping[str, Any], key: str, path: Path, where: str, default: float | None = None) -> float:
    value = entry.get(key, default)
    if not is_finite(value):
        fail(path, f"must be a number, got {brief(value)}", f"{where}.{key}")
    return float(value)
