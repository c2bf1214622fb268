"""Site: a building to work in, as robots, planners and pictures share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, brief, named, unknown_name
from fleet_sim.base.limits import LARGEST_SPEED
from fleet_sim.base.params import Mode
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.sites.grid import Grid, check_size

# Roadmap: nodes and directed lanes.


NO_LIMIT = float("inf")


@dataclass(frozen=True, eq=False)
class Roadmap:
    """Nodes at `positions` (N, 2) in m, and `lanes` (M, 2) from one node to another, by index.

    `names` (N,) may be empty texts; those that are not are unique. `speed_limits` (M,) are in m/s, inf where there is
    none. A lane that may be driven both ways is two lanes.
    """

    positions: Floats
    lanes: Ints
    names: tuple[str, ...] = ()
    speed_limits: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        positions = as_floats(self.positions, (None, 2), "nodes of the roadmap")
        count = len(positions)
        given_lanes = np.asarray(self.lanes)
        # Not converted: a fraction would become the number of another node.
        if given_lanes.size and (
            given_lanes.ndim != 2 or given_lanes.shape[1] != 2 or given_lanes.dtype.kind not in "iu"
        ):
            raise InvalidValueError(f"lanes: expected pairs of numbers of nodes, got shape {given_lanes.shape}")
        lanes = given_lanes.astype(np.int64).reshape(-1, 2)
        for lane in lanes.tolist():
            if not (0 <= lane[0] < count and 0 <= lane[1] < count):
                raise InvalidValueError(f"lane {lane}: there are {count} nodes, numbered from 0")
            if lane[0] == lane[1]:
                raise InvalidValueError(f"lane {lane}: it leads from a node to itself")
        names = tuple(self.names) or ("",) * count
        if len(names) != count:
            raise InvalidValueError(f"names: expected one per node ({count}), got {len(names)}")
        if not all(isinstance(name, str) for name in names):
            raise InvalidValueError(f"names: those of nodes must be text, got {brief(names)}")
        given = [name for name in names if name]
        if len(set(given)) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise InvalidValueError(f"two nodes are named {twice!r}")
        limits = np.array(self.speed_limits if len(self.speed_limits) else np.full(len(lanes), NO_LIMIT), np.float64)
        if limits.shape != (len(lanes),) or not (limits > 0.0).all():
            raise InvalidValueError(f"speed_limits: expected one above 0 m/s per lane ({len(lanes)})")
        for name, value in (("positions", positions), ("lanes", lanes), ("speed_limits", limits)):
            frozen = value.copy()
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)
        object.__setattr__(self, "names", names)

    def node(self, name: str) -> int:
        """Return the index of the node called `name`; raises UnknownNameError with the closest one."""
        if not name or name not in self.names:
            raise unknown_name("node", name, [known for known in self.names if known])
        return self.names.index(name)

    @property
    def lengths(self) -> Floats:
        """Lengths (M,) of the lanes in m."""
        begin, end = self.positions[self.lanes[:, 0]], self.positions[self.lanes[:, 1]]
        return np.asarray(trig.hypot(*(end - begin).T))


# Stations and zones of a site.


def check_name(name: object, what: str) -> None:
    """Raise InvalidValueError for a name of a station, zone, door or site that is not text."""
    if not isinstance(name, str):
        raise InvalidValueError(f"{what}: its name must be text, got {brief(name)}")


class StationKind(Mode):
    """What a station is for."""

    PICK = "pick"
    DROP = "drop"
    CHARGE = "charge"
    PARK = "park"
    WORKSTATION = "workstation"


@dataclass(frozen=True)
class Station:
    """A place with a purpose: `x`, `y` in m and `yaw` in rad, in the frame of the world."""

    name: str
    kind: StationKind
    x: float
    y: float
    yaw: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.name, "station")
        # Files and the look-ups tell kinds apart by identity.
        object.__setattr__(self, "kind", StationKind.parse(self.kind))
        for name in ("x", "y", "yaw"):
            object.__setattr__(self, name, as_float(getattr(self, name), f"station {self.name!r}: {name}"))


class ZoneKind(Mode):
    """What holds in a zone."""

    SPEED_LIMIT = "speed_limit"
    ONE_WAY = "one_way"
    NO_GO = "no_go"


@dataclass(frozen=True, eq=False)
class Zone:
    """An area with a rule. `corners` (K, 2) in m, in the frame of the world.

    `speed` in m/s is the limit of a zone of that kind; `direction` in rad is the way of a one-way zone. `robots` are
    the names of those for whom it holds in the traffic, with `*` for any characters; empty: all. Routes keep to all.
    """

    name: str
    kind: ZoneKind
    corners: Floats
    speed: float = float("inf")
    direction: float = 0.0
    robots: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name, "zone")
        object.__setattr__(self, "robots", tuple(self.robots))
        if self.robots and ZoneKind.parse(self.kind) is ZoneKind.SPEED_LIMIT:
            raise InvalidValueError(f"zone {self.name!r}: a speed limit holds for all robots")
        object.__setattr__(self, "kind", ZoneKind.parse(self.kind))
        self._check_rule()
        corners = np.array(self.corners, np.float64)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
            raise InvalidValueError(f"zone {self.name!r}: expected at least three corners [x, y], got {self.corners!r}")
        corners.flags.writeable = False
        object.__setattr__(self, "corners", corners)

    def _check_rule(self) -> None:
        """Raise InvalidValueError for a limit or a direction that is missing, wrong, or not of this kind of zone."""
        zone = f"zone {self.name!r}"
        if self.kind is ZoneKind.SPEED_LIMIT:
            if not isinstance(self.speed, (int, float, np.number)) or not 0.0 < self.speed < np.inf:
                raise InvalidValueError(f"{zone}: a speed limit needs a speed above 0 m/s, got {self.speed!r}")
            object.__setattr__(self, "speed", as_float(self.speed, f"{zone}: speed in m/s", high=LARGEST_SPEED))
        # A value that its kind does not use would look as if it acted.
        elif self.speed != float("inf"):
            raise InvalidValueError(f"{zone}: only a zone of the kind speed_limit has a speed")
        object.__setattr__(self, "direction", as_float(self.direction, f"{zone}: direction in rad"))
        if self.direction and self.kind is not ZoneKind.ONE_WAY:
            raise InvalidValueError(f"{zone}: only a zone of the kind one_way has a direction")

    def contains(self, points: Floats) -> Bools:
        """Return which of `points` (N, 2) are inside; either answer is right for points on the edge."""
        inside_mask = np.zeros(len(points), bool)
        x, y = points[:, 0], points[:, 1]
        for (x1, y1), (x2, y2) in zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True):
            # Edges that a ray to the right crosses: an odd number of them from inside.
            crosses_mask = (y1 > y) != (y2 > y)
            slope = (x2 - x1) / (y2 - y1) if y1 != y2 else 0.0
            inside_mask ^= crosses_mask & (x < x1 + slope * (y - y1))
        return inside_mask


MOST_DEGREES, MOST_RATIO = 360.0, 1e6
"""Of a door: how far its leaves turn at most, and how many times as wide one may be as the other."""


@dataclass(frozen=True, eq=False)
class Door:
    """A door between two points (x, y) in m; `kind` is what its building calls it, such as hinged.

    Hinged leaves have their hinge at `begin`, and turn by `degrees`: with a `direction` of 1 to the left, seen from
    there, with -1 to the right. `ratio` is the width of the leaf at `end` by that of the one at `begin`.
    """

    name: str
    kind: str
    begin: tuple[float, float]
    end: tuple[float, float]
    degrees: float = 90.0
    direction: int = 1
    ratio: float = 1.0

    def __post_init__(self) -> None:
        check_name(self.name, "door")
        door = f"door {self.name!r}"
        check_name(self.kind, f"{door}: kind")
        for name in ("begin", "end"):
            object.__setattr__(self, name, tuple(as_floats(getattr(self, name), (2,), f"{door}: {name}").tolist()))
        if self.direction not in (-1, 1):
            raise InvalidValueError(f"{door}: direction must be 1 or -1, got {brief(self.direction)}")
        object.__setattr__(self, "direction", int(self.direction))
        for name, low, high in (("degrees", 0.0, MOST_DEGREES), ("ratio", 1.0 / MOST_RATIO, MOST_RATIO)):
            object.__setattr__(self, name, as_float(getattr(self, name), f"{door}: {name}", low=low, high=high))


@dataclass(frozen=True, eq=False)
class Site:
    """Free space with an optional roadmap, stations, zones, and cells to start from and to go to.

    `walls` (K, 5) are boxes: x, y, yaw, and half of their length and width, in m and rad in the frame of the world.
    Without them they are the blocked cells, in few boxes. `starts` and `goals` (S,) are cells, aligned: robot i starts
    at `starts[i]`; `goals` may be empty. `elsewhere` has the names of places on other storeys, and where they are.
    """

    name: str
    grid: Grid
    roadmap: Roadmap | None = None
    stations: tuple[Station, ...] = ()
    zones: tuple[Zone, ...] = ()
    doors: tuple[Door, ...] = ()
    walls: Floats | None = None
    starts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    goals: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name, "site")
        self._convert()
        for what, things in (("stations", self.stations), ("zones", self.zones), ("doors", self.doors)):
            name, times = max(Counter(thing.name for thing in things).items(), key=itemgetter(1), default=("", 0))
            if times > 1:
                raise InvalidValueError(f"site {self.name!r}: {times} {what} are named {name!r}")
        self._check_places()

    def _convert(self) -> None:
        """Store sequences as tuples, and numbers as arrays; raises InvalidValueError for what is none."""
        for name in ("stations", "zones", "doors"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.walls is not None:
            # An empty list has no second dimension.
            given = self.walls if len(self.walls) else np.empty((0, 5))
            walls = as_floats(given, (None, 5), f"site {self.name!r}: walls")
            if not (walls[:, 3:] > 0.0).all():
                raise InvalidValueError(f"site {self.name!r}: walls have a length and a width above 0 m")
            object.__setattr__(self, "walls", walls)
        for name in ("starts", "goals"):
            cells = np.asarray(getattr(self, name))
            # Not converted: a fraction would become another cell.
            if cells.size and (cells.ndim != 1 or cells.dtype.kind not in "iu"):
                raise InvalidValueError(f"site {self.name!r}: {name} are numbers of cells, got {brief(cells.tolist())}")
            object.__setattr__(self, name, cells.astype(np.int64).reshape(-1))
        object.__setattr__(self, "elsewhere", dict(self.elsewhere))

    def _check_places(self) -> None:
        """Raise InvalidValueError for stations, starts and goals that are not on free space."""
        places = np.array([(station.x, station.y) for station in self.stations]).reshape(-1, 2)
        for station, free in zip(self.stations, self.grid.is_free(self.grid.cells_at(places)), strict=True):
            if not free:
                place = f"({station.x:g}, {station.y:g})"
                raise InvalidValueError(f"site {self.name!r}: station {station.name!r} at {place} is not on free space")
        for what, cells in (("start", self.starts), ("goal", self.goals)):
            blocked = cells[~self.grid.is_free(cells)]
            if len(blocked):
                row, column = divmod(int(blocked[0]), self.grid.width)
                first = f"the first in row {row}, column {column}"
                raise InvalidValueError(f"site {self.name!r}: {len(blocked)} {what} cells are not free, {first}")
        if len(self.goals) not in (0, len(self.starts)):
            raise InvalidValueError(f"site {self.name!r}: {len(self.starts)} starts, but {len(self.goals)} goals")

    def first_starts(self, count: int | None = None) -> Ints:
        """Return the first `count` starts, or all; raises InvalidValueError where there are fewer, or one twice."""
        wanted = len(self.starts) if count is None else count
        if wanted > len(self.starts):
            raise InvalidValueError(f"site {self.name!r} has {len(self.starts)} starts, {wanted} are asked for")
        chosen = self.starts[:wanted]
        cells, times = np.unique(chosen, return_counts=True)
        if len(cells) < wanted:
            row, column = divmod(int(cells[times > 1][0]), self.grid.width)
            raise InvalidValueError(f"site {self.name!r}: two robots start in row {row}, column {column}")
        return chosen

    # ---- look-ups ----------------------------------------------------------------------------------------------------

    def station(self, name: str) -> Station:
        """Return the station called `name`; raises UnknownNameError with the closest one."""
        return named("station", name, self.stations)

    def stations_of(self, kind: StationKind | str) -> tuple[Station, ...]:
        """Return the stations of a kind, in order; raises InvalidValueError for an unknown kind."""
        wanted = StationKind.parse(kind)
        return tuple(station for station in self.stations if station.kind is wanted)

    @property
    def open_grid(self) -> Grid:
        """The grid without the cells in no-go zones."""
        forbidden = [zone for zone in self.zones if zone.kind is ZoneKind.NO_GO]
        if not forbidden:
            return self.grid
        middles = self.grid.middles
        closed_mask = np.zeros(self.grid.count, bool)
        for zone in forbidden:
            closed_mask |= zone.contains(middles)
        return self.grid.without(closed_mask)

    def boxes(self) -> Floats:
        """Return the walls (K, 5): x, y, yaw, and half of their length and width."""
        if self.walls is not None:
            return self.walls
        top, left, bottom, right = rectangles(~self.grid.free_mask).T.astype(np.float64)
        grid = self.grid
        own = np.stack((0.5 * (left + right), grid.height - 0.5 * (top + bottom)), axis=1) * grid.cell
        boxes = np.empty((len(own), 5))
        boxes[:, :2] = grid.to_world(own)
        boxes[:, 2] = grid.origin[2]
        boxes[:, 3], boxes[:, 4] = 0.5 * grid.cell * (right - left), 0.5 * grid.cell * (bottom - top)
        return boxes

    # ---- other sites -------------------------------------------------------------------------------------------------

    def with_cells_of(self, cell: float) -> Site:
        """Return this site with larger cells, see `Grid.with_cells_of`; its walls stay as they are.

        Stations that would be on cells that are not wholly free are refused with InvalidValueError.
        """
        if abs(as_float(cell, "cell in m") - self.grid.cell) <= 1e-9:
            return self
        if len(self.starts):
            raise InvalidValueError(f"site {self.name!r}: its starts are cells of {self.grid.cell:g} m; keep that size")
        return replace(self, grid=self.grid.with_cells_of(cell), walls=self.boxes())

    def with_stations(self, stations: Sequence[Station]) -> Site:
        """Return this site with more stations."""
        return replace(self, stations=(*self.stations, *stations))


def rectangles(mask: Bools) -> Ints:
    """Return rectangles (K, 4) of top, left, bottom, right that cover the true cells of `mask` (H, W) exactly once.

    `bottom` and `right` are the first row and column outside. Runs of cells in a row are joined with equal runs below
    them: shelves and walls along an axis become one rectangle each.
    """
    height = mask.shape[0]
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, lefts = np.nonzero(edges > 0)
    # Both lists are in the order of rows, then columns, so that they belong together.
    rights = np.nonzero(edges < 0)[1]
    found: list[tuple[int, int, int, int]] = []
    open_runs: dict[tuple[int, int], int] = {}
    starts = np.searchsorted(rows, np.arange(height + 1)).tolist()
    runs = list(zip(lefts.tolist(), rights.tolist(), strict=True))
    for row in range(height + 1):
        here = dict.fromkeys(runs[starts[row] : starts[row + 1]] if row < height else ())
        ended = [run for run in open_runs if run not in here]
        found += [(open_runs.pop(run), run[0], row, run[1]) for run in ended]
        for run in here:
            open_runs.setdefault(run, row)
    return np.array(sorted(found), np.int64).reshape(-1, 4)


# Building: a file with several levels read as a whole, with its lifts, robots and work cells.


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


# Generates sites: warehouses of shelves and aisles, and floors where goods are sorted.


@dataclass
class Warehouse(Checked):
    """Blocks of shelves between aisles, workstations along the left and right walls, chargers along the lower one."""

    rows: int = setting(4, low=1, high=1000, doc="Blocks of shelves from bottom to top.")
    columns: int = setting(3, low=1, high=1000, doc="Blocks of shelves from left to right.")
    shelf_length: int = setting(10, low=1, high=1000, doc="Cells of a block from left to right.")
    shelf_depth: int = setting(2, low=1, high=100, doc="Cells of a block from bottom to top.")
    aisle: int = setting(1, low=1, high=100, doc="Cells between blocks above each other.")
    cross_aisle: int = setting(1, low=1, high=100, doc="Cells between blocks side by side.")
    margin: int = setting(4, low=1, high=1000, doc="Free cells around all blocks.")
    workstations: int = setting(8, low=0, high=100_000, doc="Stations where people pack, half of them on either side.")
    chargers: int = setting(4, low=0, high=100_000, doc="Places to charge, in the lowest row.")
    cell: float = setting(1.0, above=0, high=1e3, unit="m", doc="Size of a cell.")

    def site(self, name: str = "warehouse") -> Site:
        """Return the site: pick stations are above and below each cell of a block that the aisle reaches."""
        depth, length = self.shelf_depth + self.aisle, self.shelf_length + self.cross_aisle
        # The last block has no aisle behind it.
        height = self.rows * depth - self.aisle + 2 * self.margin
        width = self.columns * length - self.cross_aisle + 2 * self.margin
        check_size(height, width)
        free = np.ones((height, width), bool)
        tops = self.margin + depth * np.arange(self.rows)
        lefts = self.margin + length * np.arange(self.columns)
        # A dict keeps the order and drops doubles: where an aisle is one cell wide, both sides name it.
        picks: dict[int, None] = {}
        for top in tops.tolist():
            for left in lefts.tolist():
                free[top : top + self.shelf_depth, left : left + self.shelf_length] = False
                for row in (top - 1, top + self.shelf_depth):
                    picks.update(dict.fromkeys(range(row * width + left, row * width + left + self.shelf_length)))
        grid = Grid(free, self.cell)
        return _with_walls_used(name, grid, _stations(grid, picks, StationKind.PICK, "shelf"), self)


@dataclass
class SortationFloor(Checked):
    """A floor with chutes on a square lattice; parcels come in at stations along the walls and go down the chutes."""

    rows: int = setting(10, low=1, high=1000, doc="Chutes from bottom to top.")
    columns: int = setting(16, low=1, high=1000, doc="Chutes from left to right.")
    spacing: int = setting(3, low=2, high=100, doc="Cells from chute to chute.")
    margin: int = setting(3, low=1, high=1000, doc="Free cells around all chutes.")
    workstations: int = setting(20, low=0, high=100_000, doc="Stations where parcels come in, half of them on a side.")
    chargers: int = setting(10, low=0, high=100_000, doc="Places to charge, in the lowest row.")
    cell: float = setting(1.0, above=0, high=1e3, unit="m", doc="Size of a cell.")

    def site(self, name: str = "sortation") -> Site:
        """Return the site: a drop station is to the left of each chute."""
        height = (self.rows - 1) * self.spacing + 1 + 2 * self.margin
        width = (self.columns - 1) * self.spacing + 1 + 2 * self.margin
        check_size(height, width)
        free: Bools = np.ones((height, width), bool)
        chute_rows = self.margin + self.spacing * np.arange(self.rows)
        chute_columns = self.margin + self.spacing * np.arange(self.columns)
        free[np.ix_(chute_rows, chute_columns)] = False
        drops = (chute_rows[:, None] * width + chute_columns - 1).ravel().tolist()
        grid = Grid(free, self.cell)
        return _with_walls_used(name, grid, _stations(grid, drops, StationKind.DROP, "chute"), self)


def _with_walls_used(name: str, grid: Grid, inside: list[Station], config: Warehouse | SortationFloor) -> Site:
    """Return the site with the stations `inside`, workstations along its sides and chargers in its lowest row."""
    sides = _stations(grid, _at_sides(config.workstations, grid), StationKind.WORKSTATION, "workstation")
    bottom = _stations(grid, _at_bottom(config.chargers, grid), StationKind.CHARGE, "charger")
    return Site(name, grid, stations=(*inside, *sides, *bottom))


def _spread(count: int, length: int, what: str) -> Ints:
    """Return `count` places spread evenly over `length` cells without their ends; raises InvalidValueError."""
    # Rounding may put two into one cell; the count tells.
    places = np.unique(np.linspace(0, length - 1, count + 2)[1:-1].round().astype(np.int64))
    if len(places) < count:
        raise InvalidValueError(f"{what}: {count} do not fit beside each other along {length} cells")
    return places


def _at_sides(count: int, grid: Grid) -> list[int]:
    """Return the cells of `count` workstations, half of them along either side, the left ones first."""
    left = (count + 1) // 2
    first = _spread(left, grid.height, "workstations") * grid.width
    second = _spread(count - left, grid.height, "workstations") * grid.width + grid.width - 1
    return [*first.tolist(), *second.tolist()]


def _at_bottom(count: int, grid: Grid) -> list[int]:
    """Return the cells of `count` chargers in the lowest row."""
    cells: list[int] = ((grid.height - 1) * grid.width + _spread(count, grid.width, "chargers")).tolist()
    return cells


def _stations(grid: Grid, cells: Iterable[int], kind: StationKind, name: str) -> list[Station]:
    chosen = np.array(list(cells), np.int64)
    return [Station(f"{name}_{number}", kind, x, y) for number, (x, y) in enumerate(grid.positions(chosen).tolist())]
