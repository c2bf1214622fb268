"""Where orders lead: the stations of a site, and points on its free space, by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.config.modes import RouteMode
from fleet_sim.core.routes import NoRoute
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.orders.lengths import LaneLengths, Lengths, RouteLengths, matrix
from fleet_sim.orders.order import Place
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.router import Router
from fleet_sim.traffic.traffic import Traffic

SPEED = 1.0


class OrderPlaces:
    """The places of a site. Stations have the first numbers, in their order; points get theirs when first named.

    Ways are checked for a footprint of `radius` m, the smallest in the fleet.
    """

    def __init__(self, site: Site, router: Router, traffic: Callable[[], Traffic | None]) -> None:
        self.site = site
        self._router = router
        self._traffic = traffic
        self._network: Network | None = None
        self.names = [station.name for station in site.stations]
        self.points: list[tuple[float, float]] = [(station.x, station.y) for station in site.stations]
        self._numbers: dict[Place, int] = {name: number for number, name in enumerate(self.names)}
        self.closed: set[int] = set()
        self._radius = 0.0
        self._ways: dict[tuple[int, int], str] = {}
        self._lengths: Lengths | None = None
        self._cells: Ints = np.empty(0, np.int64)

    @property
    def radius(self) -> float:
        """Radius in m of the footprint that ways are checked for."""
        return self._radius

    @radius.setter
    def radius(self, radius: float) -> None:
        if radius != self._radius:
            self._radius = radius
            self._ways.clear()
            self._lengths = None

    # ---- names -------------------------------------------------------------------------------------------------------

    def number(self, place: Place) -> int:
        """Return the number of a station or point.

        Raises UnknownNameError with the closest station, InvalidValueError for one on another storey, and for a point
        that is not on free space.
        """
        known = self._numbers.get(place)
        if known is not None:
            return known
        if isinstance(place, str):
            if place in self.site.elsewhere:
                storey = self.site.elsewhere[place]
                raise InvalidValueError(
                    f"station {place!r} is on {storey!r}, and orders stay on the storey of the site"
                )
            raise unknown_name("station", place, [station.name for station in self.site.stations])
        grid = self.site.open_grid
        if not grid.is_free(grid.cells_at(np.array([place])))[0]:
            raise InvalidValueError(f"the point ({place[0]:g}, {place[1]:g}) is not on free space of the site")
        number = self._numbers[place] = len(self.names)
        self.names.append(f"({place[0]:g}, {place[1]:g})")
        self.points.append(place)
        return number

    def of_kind(self, kind: StationKind) -> list[int]:
        """Return the numbers of the stations of a kind."""
        return [number for number, station in enumerate(self.site.stations) if station.kind is kind]

    @property
    def stations(self) -> list[str]:
        """The names of the stations of the site."""
        return [station.name for station in self.site.stations]

    def save(self) -> list[tuple[float, float]]:
        """Return the points that have numbers, in order."""
        return self.points[len(self.site.stations) :]

    def restore(self, saved: Sequence[tuple[float, float]]) -> None:
        """Restore what `save` returned: points named since lose their numbers."""
        if list(saved) == self.save():
            return
        count = len(self.site.stations)
        del self.names[count:], self.points[count:]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        # Ways and lengths were noted by number.
        self._ways.clear()
        self._lengths = None
        for point in saved:
            self.number(point)

    # ---- ways --------------------------------------------------------------------------------------------------------

    def check_way(self, stops: Sequence[int]) -> None:
        """Raise InvalidValueError where no way leads from one of `stops` to the next one."""
        for begin, end in pairwise(stops):
            reason = self._ways.get((begin, end))
            # The empty reason stands for: there is a way.
            if reason is None:
                reason = self._ways[begin, end] = "" if self._joined(begin, end) else self._no_way(begin, end)
            if reason:
                raise InvalidValueError(f"no robot gets from {self.names[begin]} to {self.names[end]}: {reason}")

    def _joined(self, begin: int, end: int) -> bool:
        """Return whether there is surely a way: most places can be told without looking for it."""
        return self._table().joined(*self._cells_of(np.array([begin, end])).tolist())

    def _no_way(self, begin: int, end: int) -> str:
        points = np.array([self.points[begin], self.points[end]])
        found = self._router.find(points[0], points[1], self._radius, speed=SPEED, mode=RouteMode.AUTO)
        return found.reason if isinstance(found, NoRoute) else ""

    def lengths_from(self, points: Floats, goals: Iterable[int]) -> Floats:
        """Return the lengths (K, G) in m of routes from `points` (K, 2) to the places `goals`; inf: there is none."""
        lengths = self._table()
        chosen = np.array(list(goals), np.int64)
        return matrix(lengths, lengths.cells_of(points), self._cells_of(chosen))

    def between(self, begins: Ints, ends: Ints) -> Floats:
        """Return the lengths (K,) in m of routes from the places `begins` (K,) to `ends` (K,)."""
        lengths, starts, goals = self._table(), self._cells_of(begins), self._cells_of(ends)
        found = np.empty(len(starts))
        # One field of distances from a goal serves all starts.
        for goal in np.unique(goals).tolist():
            mask = goals == goal
            found[mask] = lengths.to(goal, starts[mask])
        return found

    def length_of(self, stops: Sequence[int]) -> float:
        """Return the length in m of the way along `stops`."""
        return float(self.between(np.array(stops[:-1], np.int64), np.array(stops[1:], np.int64)).sum())

    def look(self) -> None:
        """Measure ways as robots drive them from now on: along the grid of the traffic where there is one."""
        traffic = self._traffic()
        # Traffic without robots says nothing about how those of the orders drive.
        network = traffic.network if traffic is not None and len(traffic.rows) else None
        if network is not self._network:
            self._network, self._lengths = network, None
            self._ways.clear()

    def _table(self) -> Lengths:
        if self._lengths is None:
            network = self._network
            # Steps of a roadmap have lengths of their own, and a plan counts them alike.
            along_grid = network is not None and network.grid is not None
            self._lengths = (
                LaneLengths(network, self.site.grid.cell)
                if network is not None and along_grid
                else RouteLengths(self.site, self._radius)
            )
            self._cells = np.empty(0, np.int64)
        return self._lengths

    def _cells_of(self, places: Ints) -> Ints:
        # Points may have been named since.
        if len(self._cells) < len(self.points):
            self._cells = self._table().cells_of(np.array(self.points).reshape(-1, 2))
        return self._cells[places]
