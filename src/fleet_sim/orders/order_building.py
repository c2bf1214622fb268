"""OrderBuilding: the stations on all storeys of a building, and ways between them with its lifts.

A way between storeys leads through one lift: to its doors, up or down, and on from its doors. Lengths of such ways are
in m, a storey as much as it is high; waiting is not counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.config.modes import RouteMode
from fleet_sim.core.routes import NoRoute
from fleet_sim.equipment.storeys import StoreyRouter
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.orders.lengths import Lengths, RouteLengths
from fleet_sim.orders.order import Place
from fleet_sim.orders.places import OrderPlaces, Spot
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind

# Only whether there is a way is asked with it, so any speed will do.
SPEED = 1.0
BESIDE = 2
"""Cells between two storeys on the chart."""
STOREY = 1 << 32
"""Cells of a storey have numbers from its own times this on."""


class OrderBuilding(OrderPlaces):
    """The places of a building. Stations of one name on several storeys are called <level>/<name>."""

    def __init__(self, router: StoreyRouter) -> None:
        self._router = router
        sites = [level.site for level in router.plan.building.levels]
        super().__init__(_stations(router))
        cells = {site.grid.cell for site in sites}
        if len(cells) != 1:
            raise InvalidValueError(f"the storeys of a building have cells of one size, these of {sorted(cells)} m")
        grids = [site.open_grid for site in sites]
        # Storeys are side by side on one chart, a little apart, so that reports can draw them in one picture.
        widths = np.array([grid.width + BESIDE for grid in grids])
        self._grids, self._begins = grids, np.cumsum(widths) - widths
        free = np.zeros((max(grid.height for grid in grids), int(widths.sum())), bool)
        for grid, begin in zip(grids, self._begins.tolist(), strict=True):
            free[len(free) - grid.height :, begin : begin + grid.width] = grid.free_mask
        self._chart = Grid(free, grids[0].cell)

    @property
    def site(self) -> Site:
        """Raises InvalidValueError: there are several storeys."""
        raise InvalidValueError("pods and files of tasks are for one storey; name it in a section 'site', as its level")

    @property
    def chart(self) -> Grid:
        """The free space of the storeys side by side, from left to right."""
        return self._chart

    def on_chart(self, positions: Floats) -> Floats:
        """Return where on the chart (K, 2) in m robots at `positions` (K, 3) are."""
        found = np.empty((len(positions), 2))
        storeys = self.storeys(positions)
        for storey in np.unique(storeys).tolist():
            mask = storeys == storey
            found[mask] = self._grids[storey].to_own(positions[mask, :2])
            found[mask, 0] += float(self._begins[storey]) * self._chart.cell
        return found

    def storeys(self, positions: Floats) -> Ints:
        """Return the storeys (K,) that robots at `positions` (K, 3) are on, from 0."""
        return np.array([self._router.plan.number(height) for height in positions[:, 2].tolist()], np.int64)

    def spot(self, position: Floats) -> Spot:
        """Return the place on the floor below a robot at `position` (3,)."""
        plan = self._router.plan
        return float(position[0]), float(position[1]), float(plan.heights[plan.number(float(position[2]))])

    def look(self) -> None:
        """Do nothing: there is no traffic on several storeys."""

    def _named(self, place: Place) -> Spot:
        if isinstance(place, str):
            raise unknown_name("station", place, self.stations)
        raise InvalidValueError(
            f"the point {place} does not say on which storey; in a building orders lead to stations"
        )

    def _no_way(self, begin: int, end: int) -> str:
        """Return why no way leads from one station to another, both by number; empty if one does.

        Between storeys it tells of each lift why it does not help.
        """
        points = np.array([self.points[begin], self.points[end]])
        plan, router = self._router.plan, self._router
        storeys = [plan.number(height) for height in points[:, 2].tolist()]
        if storeys[0] == storeys[1]:
            found = router.find(points[0], points[1], self._radius, speed=SPEED, mode=RouteMode.AUTO, stands=False)
            return found.reason if isinstance(found, NoRoute) else ""
        if np.isfinite(self.between(np.array([begin]), np.array([end]))[0]):
            return ""
        crossings = [plan.crossing(lift, storeys[0], storeys[1], self._radius) for lift in plan.lifts]
        reasons = [found.reason for found in crossings if isinstance(found, NoRoute)]
        between = f"no lift takes a robot from {plan.name(storeys[0])!r} to {plan.name(storeys[1])!r}"
        return "; ".join([between, *reasons])

    def _measured(self) -> Lengths:
        return StoreyLengths(self._router, self._radius)


def _stations(router: StoreyRouter) -> list[tuple[str, StationKind, Spot]]:
    """Return name, kind and place of all stations: x and y in m, z the elevation of their storey.

    A name that several storeys use is told apart by the storey: `level/station`.
    """
    levels = router.plan.building.levels
    names = [station.name for level in levels for station in level.site.stations]
    return [
        (
            station.name if names.count(station.name) == 1 else f"{level.name}/{station.name}",
            station.kind,
            (station.x, station.y, level.elevation),
        )
        for level in levels
        for station in level.site.stations
    ]


class _OrderRide(NamedTuple):
    """Cells before the doors of a lift, as each storey numbers them, and how far it is from one to the other in m."""

    door: int
    out: int
    length: float


class StoreyLengths:
    """Lengths in m of the shortest ways in a building, for footprints of `radius` m, with one lift at most.

    A storey counts as much as it is high; waiting is not counted.
    """

    def __init__(self, router: StoreyRouter, radius: float) -> None:
        self._plan = plan = router.plan
        count = len(plan.heights)
        self._storeys = [RouteLengths(router.site(storey), radius) for storey in range(count)]
        self._rides: dict[tuple[int, int], list[_OrderRide]] = {}
        for begin in range(count):
            for end in range(count):
                crossings = [plan.crossing(lift, begin, end, radius) for lift in plan.lifts if begin != end]
                high = float(abs(plan.heights[end] - plan.heights[begin]))
                self._rides[begin, end] = [
                    _OrderRide(self._cell(begin, found.door), self._cell(end, found.out), high)
                    for found in crossings
                    if not isinstance(found, NoRoute)
                ]

    def cells_of(self, points: Floats) -> Ints:
        """Return the cells (K,) of `points` (K, 3) in m, in a lift those before its doors; -1 where no way leads."""
        found = np.empty(len(points), np.int64)
        for number, point in enumerate(points):
            storey = self._plan.number(float(point[2]))
            cell, lift = self._cell(storey, point[:2]), self._plan.lift_at(point)
            if lift is not None:
                cells = [ride.out for (_, end), rides in self._rides.items() if end == storey for ride in rides]
                cell = cells[0] if cells else -1
            found[number] = -1 if cell < 0 else storey * STOREY + cell
        return found

    def joined(self, begin: int, end: int) -> bool:
        """Return whether a way surely leads from cell `begin` to cell `end`."""
        if min(begin, end) < 0:
            return False
        (first, start), (last, goal) = divmod(begin, STOREY), divmod(end, STOREY)
        if first == last:
            return self._storeys[first].joined(start, goal)
        return any(
            self._storeys[first].joined(start, ride.door) and self._storeys[last].joined(ride.out, goal)
            for ride in self._rides[first, last]
        )

    def to(self, goal: int, cells: Ints) -> Floats:
        """Return the lengths (K,) in m from `cells` (K,) to the cell `goal`; inf where there is no way."""
        found = np.full(len(cells), np.inf)
        if goal < 0:
            return found
        last, end = divmod(goal, STOREY)
        for storey in np.unique(cells[cells >= 0] // STOREY).tolist():
            mask = (cells >= 0) & (cells // STOREY == storey)
            starts = cells[mask] % STOREY
            if storey == last:
                found[mask] = self._storeys[last].to(end, starts)
                continue
            for ride in self._rides[storey, last]:
                onward = float(self._storeys[last].to(end, np.array([ride.out]))[0])
                there = self._storeys[storey].to(ride.door, starts)
                found[mask] = np.minimum(found[mask], there + ride.length + onward)
        return found

    def _cell(self, storey: int, point: Floats) -> int:
        return int(self._storeys[storey].cells_of(np.asarray(point)[None])[0])
