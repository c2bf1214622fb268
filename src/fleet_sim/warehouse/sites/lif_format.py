"""LIF, the Layout Interchange Format of VDMA: nodes, edges and stations of vehicles, read and written as sites.

A layout is a level. Its edges are lanes; the slowest limit that a vehicle type has on an edge counts. A station is at
its first interaction node. What it is for follows from the actions there: pick, drop, both of them (a workstation),
startCharging; without one of these it is a place to park.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import is_finite
from fleet_sim.base.errors import InvalidValueError, brief
from fleet_sim.base.files import write_file
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.sites import site as sites
from fleet_sim.warehouse.sites.reading import SiteFormat, chosen_level, fail, list_of
from fleet_sim.warehouse.sites.rmf_format import WALL, cell_for, named_after
from fleet_sim.warehouse.sites.section import around, free_space
from fleet_sim.warehouse.sites.site import StationKind

VERSION = "1.0.0"
ANY = "any"
"""The vehicle type of what is written: a site does not tell types apart."""
NEAR = 0.05
"""Distance in m within which a station is at a node."""
_ACTIONS = {
    StationKind.PICK: ("pick",),
    StationKind.DROP: ("drop",),
    StationKind.WORKSTATION: ("pick", "drop"),
    StationKind.CHARGE: ("startCharging",),
    StationKind.PARK: (),
}
USED = {
    "nodes": {"nodeId", "nodeName", "nodeDescription", "mapId", "nodePosition", "vehicleTypeNodeProperties"},
    "edges": {"edgeId", "edgeName", "edgeDescription", "startNodeId", "endNodeId", "vehicleTypeEdgeProperties"},
    "stations": {"stationId", "stationName", "stationDescription", "interactionNodeIds", "stationPosition"},
}
"""Keys that are used, or only shown."""
EDGE_USED = {"vehicleTypeId", "maxSpeed", "rotationAllowed"}
"""Robots in the traffic turn at nodes only, whatever an edge allows."""


class LifFormat(SiteFormat):
    """Layouts of LIF 1.0."""

    suffixes = (".json",)
    doc = "LIF layout"
    keys = ("metaInformation", "layouts")
    has_levels = True

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return the keys of nodes, edges and stations that nothing uses; what edges say of rotations is among them."""
        found: dict[str, set[str]] = {}
        layouts = content["layouts"] if isinstance(content["layouts"], list) else []
        for layout in (one for one in layouts if isinstance(one, Mapping)):
            for kind, used in USED.items():
                entries = layout.get(kind)
                for entry in entries if isinstance(entries, list) else []:
                    if isinstance(entry, Mapping):
                        found.setdefault(kind, set()).update(set(map(str, entry)) - used)
                        for one in _properties(entry, "vehicleTypeEdgeProperties"):
                            found.setdefault("vehicleTypeEdgeProperties", set()).update(set(map(str, one)) - EDGE_USED)
        return {place: sorted(names) for place, names in found.items() if names}

    def read(self, content: Any, path: Path, level: str | None) -> sites.Site:
        """Return one layout as a site, called by its layoutLevelId or its layoutId; raises ConfigError."""
        layouts = list_of(content, "layouts", path, "")
        levels: dict[str, Any] = {}
        for index, layout in enumerate(layouts):
            if not isinstance(layout, Mapping):
                fail(path, f"must be a mapping, got {brief(layout)}", f"layouts[{index}]")
            name = str(layout.get("layoutLevelId") or layout.get("layoutId") or index)
            if name in levels:
                fail(path, f"two layouts are of the level {name!r}: put them into one", f"layouts[{index}]")
            levels[name] = layout
        name, layout = chosen_level(path, levels, level)
        where = f"layouts.{name}"
        nodes = _by_id(list_of(layout, "nodes", path, where), "nodeId", path, f"{where}.nodes")
        if not nodes:
            fail(path, "has no nodes", where)
        points = np.array([_place(node, "nodePosition", path, f"{where}.nodes.{key}") for key, node in nodes.items()])
        numbers = {key: index for index, key in enumerate(nodes)}
        elsewhere = {
            str(node.get("nodeId")): other
            for other, entry in levels.items()
            if other != name
            for node in list_of(entry, "nodes", path, f"layouts.{other}")
            if isinstance(node, Mapping)
        }
        lanes: dict[tuple[int, int], float] = {}
        for index, edge in enumerate(list_of(layout, "edges", path, where)):
            place = f"{where}.edges[{index}]"
            if not isinstance(edge, Mapping):
                fail(path, f"must be a mapping, got {brief(edge)}", place)
            ends = [str(edge.get(key)) for key in ("startNodeId", "endNodeId")]
            if ends[0] in numbers and ends[1] in elsewhere:
                # A change of levels: lifts are no part of a layout.
                continue
            for node in ends:
                if node not in numbers:
                    fail(path, f"there is no node {brief(node)}", place)
            lane = numbers[ends[0]], numbers[ends[1]]
            # Of two edges between the same nodes the slower one counts.
            lanes[lane] = min(_limit(edge, path, place), lanes.get(lane, sites.NO_LIMIT))
        with named_after(path, where):
            stations = [
                _station(entry, nodes, points, numbers, path, f"{where}.stations[{index}]")
                for index, entry in enumerate(list_of(layout, "stations", path, where))
            ]
            floor = around(points)
            roadmap = None
            if lanes:
                pairs = np.array(list(lanes), np.int64)
                roadmap = sites.Roadmap(points, pairs, tuple(nodes), np.array(list(lanes.values())))
            return sites.Site(
                str(layout.get("layoutName") or layout.get("layoutId") or path.name.split(".")[0]),
                free_space([floor], np.empty((0, 4)), cell_for(floor), WALL),
                roadmap=roadmap,
                stations=tuple(stations),
                walls=np.empty((0, 5)),
                elsewhere={key: f"on the level {other}" for key, other in elsewhere.items()},
            )


def _by_id(entries: list[Any], key: str, path: Path, where: str) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for index, entry in enumerate(entries):
        name = entry.get(key) if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or not name or name in found:
            fail(path, f"needs a {key} of its own, got {brief(name)}", f"{where}[{index}]")
        found[name] = entry
    return found


def _place(entry: Mapping[str, Any], key: str, path: Path, where: str) -> tuple[float, float]:
    given = entry.get(key)
    x, y = (given.get("x"), given.get("y")) if isinstance(given, Mapping) else (None, None)
    if not is_finite(x) or not is_finite(y):
        fail(path, f"must have finite x and y in m, got {brief(given)}", f"{where}.{key}")
    return float(x), float(y)


def _properties(entry: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = entry.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _limit(edge: Mapping[str, Any], path: Path, where: str) -> float:
    limits = [one.get("maxSpeed") for one in _properties(edge, "vehicleTypeEdgeProperties")]
    for limit in limits:
        if limit is not None and not (is_finite(limit) and limit > 0.0):
            fail(path, f"must be above 0 m/s, got {brief(limit)}", f"{where}.maxSpeed")
    return min((float(limit) for limit in limits if limit is not None), default=sites.NO_LIMIT)


def _station(
    entry: Any, nodes: Mapping[str, Any], points: Any, numbers: Mapping[str, int], path: Path, where: str
) -> sites.Station:
    given = entry.get("interactionNodeIds") if isinstance(entry, Mapping) else None
    if not isinstance(given, list) or not given or not isinstance(given[0], str) or given[0] not in numbers:
        fail(path, f"needs the id of a node of its layout, got {brief(given)}", f"{where}.interactionNodeIds")
    properties = _properties(nodes[given[0]], "vehicleTypeNodeProperties")
    # As text: a list in its place names no action.
    actions = {str(one.get("actionType")) for each in properties for one in _properties(each, "actions")}
    fitting = [kind for kind, types in _ACTIONS.items() if actions >= {*types}]
    # The most that its actions allow; PARK fits all.
    kind = max(fitting, key=lambda kind: len(_ACTIONS[kind]))
    turn = next((one["theta"] for one in properties if is_finite(one.get("theta"))), 0.0)
    x, y = points[numbers[given[0]]].tolist()
    name = entry.get("stationName") or entry.get("stationId") or given[0]
    return sites.Station(str(name), kind, x, y, float(turn))


LIF = LifFormat()


def write_lif(site: sites.Site, path: str | Path) -> None:
    """Write the nodes, lanes and stations of `site` as LIF; raises InvalidValueError for what LIF cannot hold.

    Its free space, walls, zones and doors are no part of LIF.
    """
    if Path(path).suffix.lower() != ".json":
        raise InvalidValueError(f"{path}: a file of LIF ends in .json")
    roadmap = site.roadmap
    if roadmap is None:
        raise InvalidValueError(f"site {site.name!r} has no roadmap: LIF has nodes and edges, and no free space")
    names = [name or f"node_{index}" for index, name in enumerate(roadmap.names)]
    if len(set(names)) < len(names):
        raise InvalidValueError(f"site {site.name!r}: a node without a name would be called as another one")
    at: dict[int, list[sites.Station]] = {}
    for station in site.stations:
        ways = trig.hypot(*(roadmap.positions - (station.x, station.y)).T)
        if not len(ways) or ways.min() > NEAR:
            raise InvalidValueError(f"station {station.name!r} is at no node: stations of LIF are at nodes")
        at.setdefault(int(ways.argmin()), []).append(station)
    layout: dict[str, Any] = {"layoutId": site.name, "layoutName": site.name, "layoutVersion": "1"}
    layout["nodes"] = [
        {"nodeId": name, "nodePosition": {"x": x, "y": y}, "vehicleTypeNodeProperties": [_node_of(at.get(index, []))]}
        for index, (name, (x, y)) in enumerate(zip(names, roadmap.positions.tolist(), strict=True))
    ]
    layout["edges"] = [
        {
            "edgeId": f"{names[begin]}>{names[end]}",
            "startNodeId": names[begin],
            "endNodeId": names[end],
            "vehicleTypeEdgeProperties": [
                {"vehicleTypeId": ANY, "rotationAllowed": True} | ({"maxSpeed": limit} if limit < np.inf else {})
            ],
        }
        for (begin, end), limit in zip(roadmap.lanes.tolist(), roadmap.speed_limits.tolist(), strict=True)
    ]
    layout["stations"] = [
        {
            "stationId": station.name,
            "stationName": station.name,
            "interactionNodeIds": [names[node]],
            "stationPosition": {"x": station.x, "y": station.y, "theta": station.yaw},
        }
        for node, stations in at.items()
        for station in stations
    ]
    about = {
        "projectIdentification": site.name,
        "creator": "fleet_sim",
        "exportTimestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.00Z"),
        "lifVersion": VERSION,
    }
    write_file(path, json.dumps({"metaInformation": about, "layouts": [layout]}, indent=1) + "\n")


def _node_of(stations: list[sites.Station]) -> dict[str, Any]:
    """Return what LIF says of vehicles on a node with `stations`."""
    found: dict[str, Any] = {"vehicleTypeId": ANY}
    types = [action for station in stations for action in _ACTIONS[station.kind]]
    if types:
        found["actions"] = [{"actionType": action, "blockingType": "HARD"} for action in dict.fromkeys(types)]
    if stations:
        found["theta"] = stations[0].yaw
    return found
