"""Places of a site that people come from and go to, and the ways there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError, unknown_name
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.people import walking
from fleet_sim.warehouse.people.walking import Ground
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
