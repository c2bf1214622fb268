"""Places of a site that people come from and go to, the ways there, and how they make room for robots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.people import walking
from fleet_sim.warehouse.people.safety import IN_THE_WAY
from fleet_sim.warehouse.people.walking import FAR, Crowd, Ground, Machines, Shelves
from fleet_sim.warehouse.sites.site import Site, StationKind, Zone, ZoneKind


def read_place(value: object) -> Any:
    """Return a place as it is kept: a name, or corners (x, y); raises InvalidValueError."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, (list, tuple)) and len(value) >= 3:
        corners = np.array(value, np.float64) if all(isinstance(corner, (list, tuple)) for corner in value) else None
        if corners is not None and corners.ndim == 2 and corners.shape[1] == 2 and np.isfinite(corners).all():
            return tuple(map(tuple, corners.tolist()))
    raise InvalidValueError(f"expected a station, a kind of stations, or a polygon [[x, y], ...], got {value!r}")


def read_begin(value: object) -> Any:
    """Return a place as it is kept, None for anywhere; raises InvalidValueError."""
    return None if value is None else read_place(value)


def read_places(value: object) -> tuple[Any, ...]:
    """Return places as they are kept; raises InvalidValueError."""
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidValueError(f"expected a list of places, got {value!r}")
    return tuple(map(read_place, value))


PLACE: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 3}]}
BEGIN = {"anyOf": [*PLACE["anyOf"], {"type": "null"}]}


class Places:
    """The places of a site that people come from and go to, and the ways there on `grid`; made when they are needed."""

    def __init__(self, site: Site, radius: float) -> None:
        self._site = site
        self.grid = walking.ground_of(site.open_grid, radius)
        # From the lower left, as people count.
        self.blocked: Bools = np.ascontiguousarray(~self.grid.free_mask[::-1])
        self.walkable: Bools = self.grid.clear_of(radius).free_mask[::-1]
        self._slow: Bools = ~self.grid.clear_of(walking.EDGE).free_mask[::-1]
        self.targets: list[Bools] = []
        """The cells (H, W) of each place."""
        self.points: list[Floats] = []
        """Points (K, 2) at each place, in the frame of the site."""
        self._known: dict[Any, list[int]] = {}
        self._ways: dict[int, int] = {}
        height, width = self.blocked.shape
        self.ground = Ground(
            self.blocked,
            walking.tight_cells(self.blocked, radius + 0.3, self.grid.cell),
            np.zeros((0, height, width, 2), np.float32),
            self.grid.cell,
        )

    def numbers(self, place: Any) -> list[int]:
        """Return the numbers of a place; of all stations of a kind. Raises InvalidValueError where nobody can be."""
        if place not in self._known:
            found = self._found(place)
            self._known[place] = list(range(len(self.targets), len(self.targets) + len(found)))
            for cells, points in found:
                self.targets.append(cells)
                self.points.append(points)
        return self._known[place]

    def _found(self, place: Any) -> list[tuple[Bools, Floats]]:
        if place is None or not isinstance(place, str):
            middles = self._middles
            mask = self.walkable.ravel().copy()
            if place is not None:
                mask &= Zone("polygon", ZoneKind.NO_GO, np.array(place)).contains(self.grid.to_world(middles))
            if not mask.any():
                raise InvalidValueError(f"nobody can stand in the polygon {place}")
            return [(mask.reshape(self.walkable.shape), middles[mask])]
        kinds = [kind.value for kind in StationKind]
        names = [station.name for station in self._site.stations]
        if place not in kinds and place not in names:
            raise unknown_name("station", place, [*kinds, *names])
        stations = self._site.stations_of(place) if place in kinds else (self._site.station(place),)
        if not stations:
            raise InvalidValueError(f"site {self._site.name!r} has no station of the kind {place!r}")
        return [self._at_station(station.name, np.array([[station.x, station.y]])) for station in stations]

    def _at_station(self, name: str, point: Floats) -> tuple[Bools, Floats]:
        own = self.grid.to_own(point)
        middles = self._middles[self.walkable.ravel()]
        gaps = trig.hypot(middles[:, 0] - own[0, 0], middles[:, 1] - own[0, 1])
        # The point itself may be so near to a wall that nobody can stand there.
        if not len(gaps) or gaps.min() > 2.0:
            raise InvalidValueError(f"nobody can stand at the station {name!r}")
        nearest = middles[[int(np.argmin(gaps))]]
        cells = np.zeros_like(self.walkable)
        column, row = np.floor(nearest[0] / self.grid.cell).astype(np.int64)
        cells[row, column] = True
        return cells, nearest

    @cached_property
    def _middles(self) -> Floats:
        height, width = self.walkable.shape
        columns, rows = np.meshgrid(np.arange(width), np.arange(height))
        return np.asarray((np.stack((columns.ravel(), rows.ravel()), axis=1) + 0.5) * self.grid.cell, np.float64)

    def way(self, target: int) -> int:
        """Return the number of the ways to a place in `ground`."""
        if target not in self._ways:
            known = self.ground.ways
            self._ways[target] = count = len(self._ways)
            if count == len(known):
                ways = np.zeros((max(2 * count, 4), *known.shape[1:]), np.float32)
                ways[:count] = known
                self.ground = self.ground._replace(ways=ways)
            self.ground.ways[count] = walking.way_to(self.walkable, self._slow, self.targets[target])[1]
        return self._ways[target]

    @cached_property
    def _regions(self) -> Ints:
        """The numbers (H, W) of regions in which all cells can be reached from each other, -1 where nobody walks."""
        grid = self.grid.with_free(np.ascontiguousarray(self.walkable[::-1]))
        return grid.regions().reshape(self.walkable.shape)[::-1]

    def check_way(self, begins: Sequence[int], target: int) -> None:
        """Raise InvalidValueError unless ways lead from all of the places `begins` to `target`."""
        there = np.unique(self._regions[self.targets[target]])
        for begin in begins:
            if not np.isin(self._regions[self.targets[begin]], there).any():
                raise InvalidValueError("no way leads from where they come from to a place that they visit")

    def inside(self, target: int, points: Floats) -> Bools:
        """Return which points (N, 2) are at a place."""
        height, width = self.walkable.shape
        cells = np.floor(points / self.grid.cell).astype(np.int64)
        columns, rows = np.clip(cells[:, 0], 0, width - 1), np.clip(cells[:, 1], 0, height - 1)
        inside: Bools = self.targets[target][rows, columns]
        return inside


# How people make room for robots that wait for them: they look for a spot off the ways of these, and go there.

LOOK = 0.25
"""In s: so often they look around."""
PACE = 0.4
"""In m/s: how fast they go at most."""
CLEAR = 0.04
"""In m: kept to the ways of robots."""
STEP, STEPS = 0.12, 41
"""They look at so many points in a row, so far apart in m."""
MIDDLE = STEPS // 2
SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0))


class Waiting(NamedTuple):
    """Robots around people: `wants`, the numbers of those that want to drive; `needs` (M, 2), the places of the nodes
    that they wait for, nan for none; within `keep` m of these they may not be entered."""

    machines: Machines
    near: Shelves
    wants: Ints
    needs: Floats
    keep: float


def make_room(
    who: int, look: int, spot: Floats, machine: int, crowd: Crowd, shelves: Shelves, ground: Ground, waiting: Waiting
) -> tuple[Floats, Floats]:
    """Return the spot (2,) to which a person goes, nan for none, and the direction (2,) there, 0 to stand.

    It keeps to the `spot` that it had while it can get there. `who` is its number in the `crowd`, `look` counts how
    often people looked, `machine` is the robot that waits for it.
    """
    place, radius = crowd.places[who], float(crowd.radii[who])
    free = np.zeros((STEPS, STEPS), np.bool_)
    # Elsewhere each time, so that no narrow gap is missed for long.
    shift = np.array([look * 0.618034, look * 0.754878]) % 1.0 - 0.5
    offsets = np.arange(STEPS) - MIDDLE
    points = place + STEP * (shift + np.stack(np.meshgrid(offsets, offsets), axis=-1))
    walking.room_around(who, points, crowd, shelves, ground, waiting.machines, waiting.near, free)
    free[MIDDLE, MIDDLE] = True
    for ends in _choices(points, free, radius, spot, machine, waiting):
        lengths = walking.way_to(free, np.zeros_like(free), ends)[0]
        if lengths[MIDDLE, MIDDLE] < FAR:
            return _followed(lengths, points, place)
    return np.full(2, np.nan), np.zeros(2)


def _choices(
    points: Floats, free: Bools, radius: float, spot: Floats, machine: int, waiting: Waiting
) -> Iterator[Bools]:
    """Yield at which of the `points` (K, K, 2) that are `free` a person would like to be, the best ones first."""
    machines = waiting.machines
    if not np.isnan(spot[0]):
        column, row = (np.round((spot - points[MIDDLE, MIDDLE]) / STEP).astype(np.int64) + MIDDLE).tolist()
        # Where it is already, it looks for another one.
        if 0 <= column < STEPS and 0 <= row < STEPS and (column, row) != (MIDDLE, MIDDLE):
            kept = np.zeros_like(free)
            kept[row, column] = free[row, column]
            yield kept
    place = points[MIDDLE, MIDDLE]
    close = waiting.wants[trig.hypot(*(machines.places[waiting.wants] - place).T) < STEPS * STEP]
    # Off all ways, best where the robots can turn as well; else off that of the one that waits for this person.
    for robots, turning in product((close.tolist(), [machine]), (True, False)):
        ends = free.copy()
        for robot in robots:
            dx, dy = (points - machines.places[robot]).transpose(2, 0, 1)
            hx, hy = (machines.ways if machines.claims[robot] > 0.0 else machines.headings)[robot]
            ahead, aside = dx * hx + dy * hy, np.abs(hx * dy - hy * dx)
            around, wide = machines.radii[robot] + radius, machines.sizes[robot, 1] + radius
            ends &= (aside > wide + CLEAR) | (ahead < 0.0) | (ahead > around + IN_THE_WAY)
            ends &= ~(trig.hypot(*(points - waiting.needs[robot]).transpose(2, 0, 1)) < waiting.keep + radius + CLEAR)
            if turning:
                ends &= trig.hypot(dx, dy) > around + CLEAR
        yield ends
    # Between walls it goes ahead of the robot, as far as it sees.
    ends = free.copy()
    ends[1:-1, 1:-1] = False
    yield ends & ((points - machines.places[machine]) @ machines.headings[machine] > 0.0)


def _followed(lengths: Floats, points: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return the point to which the shortest way from the middle leads along the axes, and the direction to its first
    point from `place`."""
    at, way = (MIDDLE, MIDDLE), []
    while lengths[at] > 0.0:
        around = [(at[0] + up, at[1] + right) for up, right in SIDES]
        at = min((cell for cell in around if min(cell) >= 0 and max(cell) < STEPS), key=lambda cell: lengths[cell])
        way.append(points[at])
    if not way:
        return points[at], np.zeros(2)
    gap = way[0] - place
    return way[-1], gap / trig.hypot_of(*gap)
