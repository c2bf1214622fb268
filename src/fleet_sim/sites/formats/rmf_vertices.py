"""Vertices of files of Open-RMF, and the lanes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, is_finite
from fleet_sim.sites.formats.site_format import fail
from fleet_sim.sites.roadmap import NO_LIMIT, Roadmap


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
        begin, end = indices_of(
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


def indices_of(entry: object, count: int, path: Path, where: str, length: int = 0) -> list[int]:
    """Return the numbers of vertices in `entry`, `length` at least; raises ConfigError for what is none of `count`."""
    if not isinstance(entry, Sequence) or isinstance(entry, str) or (length and len(entry) < length):
        fail(path, f"must name vertices by number, got {entry!r}"[:200], where)
    for value in entry:
        # Truth is an int in Python, but no vertex.
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            fail(path, f"there is no vertex {value!r}; there are {count}, numbered from 0", where)
    return list(entry)
