"""Building: a file with several levels read as a whole, with its lifts, robots and work cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fleet_sim.arrays import Floats
from fleet_sim.errors import named
from fleet_sim.sites.site import Site

Value = str | int | float | bool


@dataclass(frozen=True, eq=False)
class LevelGraph:
    """Nodes at `positions` (N, 2) in m with their properties, and edges between them, by index, with theirs."""

    name: str
    positions: Floats
    names: tuple[str, ...]
    properties: tuple[Mapping[str, Value], ...]
    edges: tuple[tuple[int, int, Mapping[str, Value]], ...]


@dataclass(frozen=True, eq=False)
class Level:
    """A storey: its site, the height of its floor in m, and its graphs as the file has them."""

    name: str
    elevation: float
    site: Site
    graphs: tuple[LevelGraph, ...]
    walls: LevelGraph


@dataclass(frozen=True)
class ShaftDoor:
    """A door of a lift in the frame of its cabin, in m."""

    name: str
    x: float
    y: float
    width: float
    yaw: float
    kind: int


@dataclass(frozen=True, eq=False)
class LiftShaft:
    """A lift: its place in m and rad, the size of its cabin in m, its doors, and those that open on each level."""

    name: str
    x: float
    y: float
    yaw: float
    width: float
    depth: float
    doors: tuple[ShaftDoor, ...]
    levels: Mapping[str, tuple[str, ...]]
    initial: str
    moves: bool = True
    """Whether it is simulated; others are only drawn."""


@dataclass(frozen=True)
class PlacedThing:
    """Something that stands in a building: a robot or a model of a kind, at x, y, z in m and yaw in rad."""

    name: str
    kind: str
    level: str
    x: float
    y: float
    z: float
    yaw: float
    static: bool = False


@dataclass(frozen=True, eq=False)
class Building:
    """Levels, lowest first as the file has them, with what stands on them."""

    name: str
    levels: tuple[Level, ...]
    lifts: tuple[LiftShaft, ...] = ()
    robots: tuple[PlacedThing, ...] = ()
    models: tuple[PlacedThing, ...] = ()

    def level(self, name: str) -> Level:
        """Return the level called `name`; raises UnknownNameError with the closest one."""
        return named("level", name, self.levels)
