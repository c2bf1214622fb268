"""Site: a building to work in, as robots, planners and pictures share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, as_float, as_floats
from fleet_sim.errors import InvalidValueError, brief, named
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.roadmap import Roadmap
from fleet_sim.sites.stations import Station, StationKind, Zone, ZoneKind, check_name

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
