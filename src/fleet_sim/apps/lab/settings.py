"""The lab file: the site, the vehicles, the orders, the manager under test, and what is disturbed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

from fleet_sim.apps.lab.faults import Faults, read_faults
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, brief
from fleet_sim.base.settings import Checked, load_mapping, read, setting, time_setting
from fleet_sim.base.spatial.trigonometry import hypot_of
from fleet_sim.warehouse.battery.battery import BatterySettings
from fleet_sim.warehouse.vda5050.vehicle import StandardVersion, read_version

MOST_NODES = 2_000


@dataclass
class GridSettings(Checked):
    """Streets in rows and columns, nodes nROW_COLUMN, with a spur at each node of the rim, which ends at pNUMBER."""

    rows: int = setting(3, low=2, high=40, doc="Streets from west to east.")
    columns: int = setting(6, low=2, high=40, doc="Streets from south to north.")
    spacing: float = setting(2.0, low=0.5, high=100.0, unit="m", doc="From node to node.")
    one_way: bool = setting(True, doc="Streets take turns in their directions; the outer ones are a ring.")

    def network(self) -> tuple[dict[str, list[float]], list[list[str]]]:
        """Return the nodes by name, and the directed edges."""
        name = "n{}_{}".format
        cells = [(row, column) for row in range(self.rows) for column in range(self.columns)]
        nodes = {name(row, column): [column * self.spacing, row * self.spacing] for row, column in cells}
        streets = [
            ([name(row, column) for column in range(self.columns)], self._is_forward(row, self.rows))
            for row in range(self.rows)
        ] + [
            ([name(row, column) for row in range(self.rows)], not self._is_forward(column, self.columns))
            for column in range(self.columns)
        ]
        edges = []
        for street, forward in streets:
            for one, other in pairwise(street):
                if forward or not self.one_way:
                    edges.append([one, other])
                if not forward or not self.one_way:
                    edges.append([other, one])
        rim = [(0, column) for column in range(self.columns)]
        rim += [(row, self.columns - 1) for row in range(1, self.rows)]
        rim += [(self.rows - 1, column) for column in range(self.columns - 2, -1, -1)]
        rim += [(row, 0) for row in range(self.rows - 2, 0, -1)]
        for index, (row, column) in enumerate(rim):
            out = (
                (-1 if row == 0 else 1 if row == self.rows - 1 else 0),
                (0 if row in (0, self.rows - 1) else -1 if column == 0 else 1),
            )
            spur, node = f"p{index}", name(row, column)
            nodes[spur] = [(column + out[1]) * self.spacing, (row + out[0]) * self.spacing]
            edges += [[node, spur], [spur, node]]
        return nodes, edges

    @staticmethod
    def _is_forward(index: int, count: int) -> bool:
        # The outer streets are driven round, so that each node can be reached from each other one.
        return index != count - 1 and index % 2 == 0


def _read_nodes(value: object) -> dict[str, list[float]]:
    if isinstance(value, Mapping) and len(value) <= MOST_NODES:
        found = {}
        for name, place in value.items():
            numbers = isinstance(place, (list, tuple)) and len(place) == 2
            if not numbers or not all(isinstance(x, (int, float)) and math.isfinite(x) for x in place):
                raise InvalidValueError(f"{name}: expected [x, y] in m, got {brief(place)}")
            found[str(name)] = [float(x) for x in place]
        return found
    raise InvalidValueError(f"expected up to {MOST_NODES} names with [x, y] in m, got {brief(value)}")


def _read_edges(value: object) -> list[list[str]]:
    if isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(end, str) for end in pair)
        for pair in value
    ):
        return [list(pair) for pair in value]
    raise InvalidValueError(f"expected pairs of names, as in [[a, b], [b, a]], got {brief(value)}")


_POINT = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}


@dataclass
class SiteSettings(Checked):
    """Where vehicles drive: a grid, or nodes with directed edges."""

    grid: GridSettings | None = setting(None, doc="Streets in rows and columns.")
    nodes: dict[str, Any] = setting(
        factory=dict,
        reader=_read_nodes,
        schema={"type": "object", "additionalProperties": _POINT},
        doc="Nodes by name, [x, y] in m.",
    )
    edges: list[Any] = setting(
        factory=list,
        reader=_read_edges,
        schema={"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        doc="Directed edges [from, to]; lanes for both directions are listed twice.",
    )
    stations: list[str] = setting(factory=list, doc="Where orders begin and end; empty: every second spur, or node.")
    homes: list[str] = setting(factory=list, doc="Where vehicles stand at first; empty: the other spurs, or nodes.")

    def network(self) -> dict[str, Any]:
        """Return the site as managers are given it; raises InvalidValueError for one that cannot be driven."""
        if (self.grid is None) == (not self.nodes):
            raise InvalidValueError("give a grid, or nodes and edges")
        nodes, edges = (self.nodes, self.edges) if self.grid is None else self.grid.network()
        for name in [*self.stations, *self.homes, *(end for edge in edges for end in edge)]:
            if name not in nodes:
                raise InvalidValueError(f"there is no node {brief(name)}")
        first = next(iter(nodes))
        for ways, text in ((edges, f"from {first!r} to"), ([edge[::-1] for edge in edges], f"to {first!r} from")):
            lost = set(nodes) - _reached(first, ways)
            if lost:
                raise InvalidValueError(f"there is no way {text} {min(lost)!r}")
        places = [name for name in nodes if self.grid is None or name.startswith("p")]
        stations = self.stations or [name for name in places if name not in self.homes][::2]
        if len(set(stations)) < 2:
            raise InvalidValueError("orders need two stations at least")
        homes = self.homes or [name for name in places if name not in stations]
        return {"map": "map", "nodes": nodes, "edges": edges, "stations": stations, "homes": homes}


def _reached(start: str, edges: list[list[str]]) -> set[str]:
    ends: dict[str, list[str]] = {}
    for one, other in edges:
        ends.setdefault(one, []).append(other)
    found, waiting = {start}, [start]
    while waiting:
        new = [end for end in ends.get(waiting.pop(), ()) if end not in found]
        found.update(new)
        waiting += new
    return found


@dataclass
class VehicleSettings(Checked):
    """Vehicles of fleet_sim that speak VDA 5050; nobody but the manager keeps them apart."""

    count: int = setting(4, low=1, high=200, doc="How many.")
    version: StandardVersion | str | float = setting(
        StandardVersion.SECOND_ONE,
        reader=read_version,
        schema={"enum": ["2.0", "2.1", "3.0", 2.0, 2.1, 3.0]},
        doc="Of the standard: 2.0, 2.1 or 3.0.",
    )
    manufacturer: str = setting("lab", doc="Third level of their topics.")
    radius: float = setting(0.35, above=0.0, high=50.0, unit="m", doc="Of the round body.")
    speed: float = setting(1.0, above=0.0, high=50.0, unit="m/s", doc="The highest.")
    drive: Literal["differential", "omni"] = setting("differential", doc="Whether they turn to drive elsewhere.")
    state_interval: float = setting(5.0, low=0.1, high=30.0, unit="s", doc="Longest time between two states.")
    battery: dict[str, Any] = setting(factory=dict, doc="As in a scenario; they charge where they are told to.")


@dataclass
class OrderSettings(Checked):
    """The stream of orders: transports from a station to another one."""

    count: int = setting(12, low=1, high=100_000, doc="How many.")
    every: float = time_setting(15.0, above=0.0, doc="Mean time between two; the first comes at once.")
    cancelled: float = setting(0.1, low=0.0, high=1.0, doc="Share of them that is taken back within `every` s.")


@dataclass
class ManagerSettings(Checked):
    """The system under test: a class in this process, or a command."""

    python: str = setting("", doc="package.module:Class or file.py:Class, a manager in this process.")
    command: str = setting("", doc="A program that speaks MQTT; {port}, {site} and {storage} are filled in.")
    ros: str = setting("", doc="A program that is a ROS node; {site} and {storage} are filled in.")
    options: dict[str, Any] = setting(factory=dict, doc="Further keywords for the class.")
    factor: float = setting(1.0, above=0.0, high=100.0, doc="Simulated seconds in a second of a program.")
    orders: str = setting("lab/orders", doc="Topic on which a program gets its orders.")
    reports: str = setting("lab/reports", doc="Topic on which it says what became of them.")
    start_within: float = time_setting(20.0, doc="Time until a program has subscribed to the states of vehicles.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len([one for one in (self.python, self.command, self.ros) if one]) != 1:
            raise InvalidValueError("give `python`, a class, or `command` or `ros`, a program")

    @property
    def program(self) -> str:
        """Its command, where it is a program: its time is the wall clock."""
        return self.command or self.ros


@dataclass
class RuleSettings(Checked):
    """What the oracles measure by."""

    end_within: float = time_setting(300.0, doc="Each order ends so long after the last disturbance, or after it came.")
    patience: float = time_setting(120.0, doc="So long nothing may move while orders are open and nothing is wrong.")
    answer_within: float = time_setting(60.0, doc="So long a manager may say nothing after its first order.")
    call_within: float = time_setting(
        10.0, above=0.0, doc="Processor time of a call of a class; six times as much if it waits."
    )
    most_messages: float = setting(10.0, above=0.0, doc="To one vehicle in a second, over 10 s; more are a flood.")
    memory: float = setting(64.0, above=0.0, unit="MB", doc="What a manager may keep.")
    without: list[str] = setting(factory=list, doc="Oracles that are left out, by name.")
    more: list[str] = setting(factory=list, doc="Oracles of your own: package.module:Class or file.py:Class.")


@dataclass
class LabSettings:
    """A lab file, checked."""

    site: dict[str, Any]
    vehicles: VehicleSettings
    orders: OrderSettings
    manager: ManagerSettings
    disturbances: Faults
    rules: RuleSettings
    duration: float
    plain: dict[str, Any]
    source: str = ""

    PARTS: ClassVar[dict[str, Any]] = {
        "site": SiteSettings,
        "vehicles": VehicleSettings,
        "orders": OrderSettings,
        "manager": ManagerSettings,
        "rules": RuleSettings,
    }

    def starts(self) -> list[str]:
        """Return the nodes at which the vehicles stand at first."""
        starts: list[str] = self.site["homes"][: self.vehicles.count]
        return starts


class LabErrors(ConfigError):
    """All that is wrong in a lab file, a line each."""


def read_lab(given: str | Path | Mapping[str, Any]) -> LabSettings:
    """Return the lab of a file or a mapping; raises ConfigError, with all that is wrong in it."""
    source = "" if isinstance(given, Mapping) else str(given)
    plain = dict(given) if isinstance(given, Mapping) else load_mapping(given)
    problems: list[str] = []
    known = {*LabSettings.PARTS, "disturbances", "duration"}
    problems += [f"{brief(key)}: expected one of {', '.join(sorted(known))}" for key in plain if key not in known]
    parts: dict[str, Any] = {}
    for name, cls in LabSettings.PARTS.items():
        try:
            parts[name] = read(cls, plain.get(name, {}), path=name)
            if name == "site":
                parts[name] = parts[name].network()
        except FleetSimError as error:
            problems.append(str(error) if str(error).startswith(name) else f"{name}: {error}")
    duration = plain.get("duration", 300.0)
    if isinstance(duration, bool) or not isinstance(duration, (int, float)) or not 1.0 <= duration <= 1e6:
        problems.append(f"duration: expected from 1 to 1e6 s, got {brief(duration)}")
    has_batteries = "vehicles" in parts and bool(parts["vehicles"].battery)
    over_ros = "manager" in parts and bool(parts["manager"].ros)
    parts["disturbances"] = read_faults(
        plain.get("disturbances", {}), problems, batteries=has_batteries, over_ros=over_ros
    )
    if over_ros and has_batteries:
        problems.append("vehicles.battery: vehicles over ROS have none in labs")
    if "vehicles" in parts:
        try:
            read(BatterySettings, parts["vehicles"].battery, path="vehicles.battery")
        except FleetSimError as error:
            problems.append(str(error))
    if "site" in parts and "vehicles" in parts:
        site, vehicles = parts["site"], parts["vehicles"]
        if vehicles.count > len(site["homes"]):
            problems.append(f"vehicles.count: {vehicles.count} vehicles, but {len(site['homes'])} homes")
        gaps = [hypot_of(one[0] - other[0], one[1] - other[1]) for one, other in _pairs(list(site["nodes"].values()))]
        if min(gaps, default=1.0) <= 2.0 * vehicles.radius:
            problems.append("vehicles.radius: vehicles on two nodes touch")
    if problems:
        raise LabErrors("\n  ".join(["", *problems]) if len(problems) > 1 else problems[0], source=source)
    return LabSettings(**parts, duration=float(duration), plain=plain, source=source)


def _pairs(places: list[list[float]]) -> Any:
    return ((one, other) for index, one in enumerate(places) for other in places[:index])
