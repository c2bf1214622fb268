"""fleet_sim's own format of sites: YAML with the cells as rows of letters, stations, zones and a roadmap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fleet_sim.base.arrays import Ints, as_floats
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, brief, did_you_mean
from fleet_sim.base.files import write_file
from fleet_sim.base.limits import LARGEST_EXTENT, LARGEST_SPEED
from fleet_sim.base.settings import Checked, read, setting
from fleet_sim.warehouse.sites import site as sites
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.map_formats import map_of
from fleet_sim.warehouse.sites.reading import SiteFormat, check_suffix, fail


@dataclass
class StationEntry(Checked):
    """A station."""

    name: str = setting(doc="Its name, once per site.")
    kind: sites.StationKind = setting(doc="What it is for.")
    at: list[float] = setting(doc="Its place, [x, y] or [x, y, yaw], in m and rad.")


@dataclass
class ZoneEntry(Checked):
    """A zone."""

    name: str = setting(doc="Its name, once per site.")
    kind: sites.ZoneKind = setting(doc="What holds in it.")
    corners: list[list[float]] = setting(doc="Its corners, [x, y] in m.")
    speed: float | None = setting(None, above=0, high=LARGEST_SPEED, unit="m/s", doc="The limit of a speed limit.")
    direction: float = setting(0.0, unit="rad", doc="The way of a one-way zone.")
    robots: list[str] = setting(factory=list, doc="For whom it holds in the traffic, by name, `*` for any; none: all.")


@dataclass
class NodeEntry(Checked):
    """A node of the roadmap."""

    at: list[float] = setting(doc="Its place, [x, y] in m.")
    name: str = setting("", doc="Its name, once per roadmap; may be left out.")


@dataclass
class LaneEntry(Checked):
    """A lane of the roadmap."""

    # Any: a name or a number, which can be checked only once all nodes are known.
    begin: Any = setting(doc="The node it begins at: its name, or its number from 0.")
    end: Any = setting(doc="The node it ends at.")
    both_ways: bool = setting(False, doc="It may be driven both ways.")
    speed_limit: float | None = setting(None, above=0, high=LARGEST_SPEED, unit="m/s", doc="Speed limit; null: none.")


@dataclass
class RoadmapEntry(Checked):
    """A roadmap."""

    nodes: list[NodeEntry] = setting(doc="Its nodes.")
    lanes: list[LaneEntry] = setting(factory=list, doc="Its lanes.")


@dataclass
class DoorEntry(Checked):
    """A door."""

    name: str = setting(doc="Its name, once per site.")
    begin: list[float] = setting(doc="One end, [x, y] in m.")
    end: list[float] = setting(doc="The other end.")
    kind: str = setting("", doc="What the building calls it, such as hinged or sliding.")
    degrees: float = setting(90.0, low=0.0, high=sites.MOST_DEGREES, unit="deg", doc="How far hinged leaves turn.")
    direction: int = setting(
        1, low=-1, high=1, doc="Hinged leaves turn to the left (1), seen from `begin`, or right (-1)."
    )
    ratio: float = setting(
        1.0,
        low=1.0 / sites.MOST_RATIO,
        high=sites.MOST_RATIO,
        doc="Width of the leaf at `end` by that of the one at `begin`.",
    )


def read_rows(value: object) -> list[str]:
    """Return the rows in a text or a list of texts; raises InvalidValueError."""
    # A block of text in YAML and a list are the same picture; people draw the first, programs write the second.
    rows = value.split() if isinstance(value, str) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) and row for row in rows):
        raise InvalidValueError(f"must be lines of letters, got {brief(value)}")
    return rows


@dataclass
class SiteConfig(Checked):
    """A site."""

    site: str = setting(doc="Its name.")
    rows: list[str] = setting(
        reader=read_rows,
        schema={"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        doc="The cells from top to bottom, as lines of a text or a list: . is free, @ is not.",
    )
    cell: float = setting(1.0, above=0, high=1e4, unit="m", doc="Size of a cell.")
    origin: list[float] = setting(
        factory=lambda: [0.0, 0.0, 0.0], doc=f"Pose (x, y, yaw) of the lower left corner, within {LARGEST_EXTENT:g} m."
    )
    walls: list[list[float]] | None = setting(
        None, doc="Boxes [x, y, yaw, half length, half width] in m; null: the cells that are not free."
    )
    stations: list[StationEntry] = setting(factory=list, doc="Its stations.")
    zones: list[ZoneEntry] = setting(factory=list, doc="Its zones.")
    doors: list[DoorEntry] = setting(factory=list, doc="Its doors.")
    roadmap: RoadmapEntry | None = setting(None, doc="Its roadmap.")
    starts: list[list[float]] = setting(factory=list, doc="Cells that robots start on, as points [x, y] in m.")
    goals: list[list[float]] = setting(factory=list, doc="Where each of these goes, [x, y] in m; may be left out.")
    elsewhere: dict[str, str] = setting(
        factory=dict, doc="Places on other levels of the building, and the name of the level of each."
    )


class OwnFormat(SiteFormat):
    """A site as fleet_sim writes it."""

    suffixes = (".yaml", ".yml")
    doc = "fleet_sim site"
    keys = ("site", "rows")

    def read(self, content: Any, path: Path, level: str | None) -> sites.Site:
        """Return the site in the mapping `content`; raises ConfigError."""
        config = read(SiteConfig, content, source=str(path))
        # The first row says how wide all are.
        mask = map_of(config.rows, len(config.rows[0]), path).free_mask
        try:
            grid = Grid(mask, config.cell, _origin(config.origin, path))
            return sites.Site(
                config.site,
                grid,
                roadmap=None if config.roadmap is None else _roadmap(config.roadmap, path),
                stations=tuple(_station(entry, path, index) for index, entry in enumerate(config.stations)),
                zones=tuple(_zone(entry) for entry in config.zones),
                doors=tuple(_door(entry) for entry in config.doors),
                # An empty list is a site without walls, which is not the same as walls that follow from the cells.
                walls=None if config.walls is None else as_floats(config.walls or np.empty((0, 5)), (None, 5), "walls"),
                starts=_cells(config.starts, grid, "starts"),
                goals=_cells(config.goals, grid, "goals"),
                elsewhere=config.elsewhere,
            )
        except FleetSimError as error:
            # What sites check themselves knows no file; here it gets one.
            raise ConfigError.of(error).within(source=str(path)) from error


def _origin(given: list[float], path: Path) -> tuple[float, float, float]:
    if len(given) not in (2, 3):
        fail(path, f"must be [x, y] or [x, y, yaw], got {given!r}", "origin")
    return given[0], given[1], given[2] if len(given) == 3 else 0.0


def _cells(points: list[list[float]], grid: Grid, what: str) -> Ints:
    """Return the cells (S,) of the starts or goals at `points`; raises InvalidValueError for one off the grid."""
    cells = grid.cells_at(as_floats(points or np.empty((0, 2)), (None, 2), what))
    outside = np.flatnonzero(cells < 0)
    if len(outside):
        raise InvalidValueError(f"{what}[{outside[0]}]: {points[outside[0]]} is outside of the cells")
    return cells


def _station(entry: StationEntry, path: Path, index: int) -> sites.Station:
    if len(entry.at) not in (2, 3):
        fail(path, f"must be [x, y] or [x, y, yaw], got {entry.at!r}", f"stations[{index}].at")
    return sites.Station(entry.name, entry.kind, *map(float, entry.at))


def _zone(entry: ZoneEntry) -> sites.Zone:
    speed = float("inf") if entry.speed is None else entry.speed
    return sites.Zone(
        entry.name,
        entry.kind,
        as_floats(entry.corners, (None, 2), entry.name),
        speed,
        entry.direction,
        tuple(entry.robots),
    )


def _door(entry: DoorEntry) -> sites.Door:
    begin, end = (as_floats(place, (2,), f"door {entry.name!r}").tolist() for place in (entry.begin, entry.end))
    ends = (begin[0], begin[1]), (end[0], end[1])
    return sites.Door(entry.name, entry.kind, *ends, entry.degrees, entry.direction, entry.ratio)


def _roadmap(entry: RoadmapEntry, path: Path) -> sites.Roadmap:
    """Return the roadmap of a file; a lane that may be driven both ways becomes two. Raises ConfigError."""
    names = [node.name for node in entry.nodes]
    lanes: list[tuple[int, int]] = []
    limits: list[float] = []
    for index, lane in enumerate(entry.lanes):
        begin, end = (
            _number(node, names, path, f"roadmap.lanes[{index}].{key}")
            for key, node in (("begin", lane.begin), ("end", lane.end))
        )
        # A Roadmap has directed lanes only, so that planners look at one direction at a time.
        ways = [(begin, end), (end, begin)] if lane.both_ways else [(begin, end)]
        lanes += ways
        limits += [lane.speed_limit or sites.NO_LIMIT] * len(ways)
    places = as_floats([node.at for node in entry.nodes] or np.empty((0, 2)), (None, 2), "roadmap.nodes")
    return sites.Roadmap(places, np.array(lanes, np.int64).reshape(-1, 2), tuple(names), np.array(limits))


def _number(node: object, names: list[str], path: Path, where: str) -> int:
    """Return the number of a node by its number or name; raises ConfigError with the closest name."""
    # YAML reads `yes` and `on` as True, which is an int in Python.
    if isinstance(node, int) and not isinstance(node, bool):
        if not 0 <= node < len(names):
            fail(path, f"the lane leads to node {brief(node)}, but there are {len(names)} nodes", where)
        return node
    if node not in names or not node:
        fail(path, f"unknown node {node!r}.{did_you_mean(str(node), filter(None, names))}", where)
    # Names before numbers: a node called "3" is not node 3, as it is text.
    return names.index(str(node))


FORMAT = OwnFormat()


# Writes sites in fleet_sim's own format.


def write_site(site: sites.Site, path: str | Path) -> None:
    """Write `site` to a YAML file that `read_site` reads to an equal one.

    Raises InvalidValueError for a file that does not end in .yaml or .yml.
    """
    check_suffix(path)
    grid = site.grid
    content: dict[str, Any] = {
        "site": site.name,
        "cell": float(grid.cell),
        "origin": [float(value) for value in grid.origin],
        "rows": _Block("\n".join("".join(row) for row in np.where(grid.free_mask, ".", "@").tolist()) + "\n"),
    }
    if site.walls is not None:
        # Only what there is: people edit these files, and empty sections invite questions.
        content["walls"] = np.asarray(site.walls).tolist()
    if site.stations:
        content["stations"] = [
            _Line({"name": station.name, "kind": station.kind.value, "at": [station.x, station.y, station.yaw]})
            for station in site.stations
        ]
    if site.zones:
        content["zones"] = [_zone_content(zone) for zone in site.zones]
    if site.doors:
        content["doors"] = [_door_content(door) for door in site.doors]
    if site.roadmap is not None:
        content["roadmap"] = _roadmap_content(site.roadmap)
    for name, cells in (("starts", site.starts), ("goals", site.goals)):
        if len(cells):
            content[name] = grid.positions(cells).tolist()
    if site.elsewhere:
        content["elsewhere"] = dict(site.elsewhere)
    text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=1000, default_flow_style=None)
    # Whole or not at all: a site that ends in the middle may still be valid YAML, of a smaller site.
    write_file(path, text)


# A site is read and edited by people: cells as a picture of letters, and an entry a line.
class _Block(str):
    __slots__ = ()


class _Line(dict[str, Any]):
    pass


class _Dumper(yaml.SafeDumper):
    # YAML would write the second of two equal lists as a reference to the first, which nobody wants to edit.
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(_Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|"))
# Coordinates are often computed.
_Dumper.add_multi_representer(np.generic, lambda dumper, number: dumper.represent_data(number.item()))  # type: ignore[type-abstract]
_Dumper.add_representer(
    _Line, lambda dumper, entry: dumper.represent_mapping("tag:yaml.org,2002:map", entry.items(), flow_style=True)
)


def _door_content(door: sites.Door) -> dict[str, Any]:
    content = _Line({"name": door.name, "kind": door.kind, "begin": list(door.begin), "end": list(door.end)})
    for name in ("degrees", "direction", "ratio"):
        value = getattr(door, name)
        # What is as usual need not be read by those who edit the file.
        if value != getattr(sites.Door, name):
            content[name] = value
    return content


def _zone_content(zone: sites.Zone) -> dict[str, Any]:
    content = _Line({"name": zone.name, "kind": zone.kind.value, "corners": zone.corners.tolist()})
    if zone.kind is sites.ZoneKind.SPEED_LIMIT:
        content["speed"] = float(zone.speed)
    if zone.kind is sites.ZoneKind.ONE_WAY:
        content["direction"] = float(zone.direction)
    if zone.robots:
        content["robots"] = list(zone.robots)
    return content


def _roadmap_content(roadmap: sites.Roadmap) -> dict[str, Any]:
    """Return a roadmap as a file has it."""
    nodes = [{"name": name, "at": place} for name, place in zip(roadmap.names, roadmap.positions.tolist(), strict=True)]
    lanes = []
    for (begin, end), limit in zip(roadmap.lanes.tolist(), roadmap.speed_limits.tolist(), strict=True):
        lane = _Line({"begin": begin, "end": end})
        # No limit is infinity in a Roadmap, and a missing key in files.
        if limit < sites.NO_LIMIT:
            lane["speed_limit"] = limit
        lanes.append(lane)
    return {"nodes": nodes, "lanes": lanes}
