"""OrderSite: the stations of a site of one storey, and points on its free space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import RouteMode
from fleet_sim.core.routes import NoRoute
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.orders.lengths import LaneLengths, Lengths, RouteLengths
from fleet_sim.orders.order import Place
from fleet_sim.orders.places import OrderPlaces, Spot
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.router import Router
from fleet_sim.traffic.traffic import Traffic

SPEED = 1.0


class OrderSite(OrderPlaces):
    """The places of a site, with ways as `router` finds them, or along the grid of the traffic where there is one."""

    def __init__(self, site: Site, router: Router, traffic: Callable[[], Traffic | None]) -> None:
        super().__init__([(station.name, station.kind, (station.x, station.y)) for station in site.stations])
        self._site = site
        self._router = router
        self._traffic = traffic
        self._network: Network | None = None

    @property
    def site(self) -> Site:
        """The site."""
        return self._site

    @property
    def chart(self) -> Grid:
        """The free space of the site."""
        return self._site.open_grid

    def on_chart(self, positions: Floats) -> Floats:
        """Return where on the chart (K, 2) in m robots at `positions` (K, 3) are."""
        return positions[:, :2]

    def spot(self, position: Floats) -> Spot:
        """Return the place on the floor below a robot at `position` (3,)."""
        return float(position[0]), float(position[1])

    def look(self) -> None:
        """Measure ways as robots drive them from now on: along the grid of the traffic where there is one."""
        traffic = self._traffic()
        # Traffic without robots says nothing about how those of the orders drive.
        network = traffic.network if traffic is not None and len(traffic.rows) else None
        if network is not self._network:
            self._network = network
            self._forget_ways()

    def _named(self, place: Place) -> Spot:
        """Return the point itself; raises UnknownNameError for a name, InvalidValueError for a point that is not free.

        Called for what is no station of this storey; a station of another one is refused with what to do about it.
        """
        if isinstance(place, str):
            if place in self._site.elsewhere:
                storey = self._site.elsewhere[place]
                raise InvalidValueError(
                    f"station {place!r} is on {storey!r}, and a section 'site' is one storey; "
                    "name the whole building in a section 'building' instead"
                )
            raise unknown_name("station", place, self.stations)
        grid = self._site.open_grid
        if not grid.is_free(grid.cells_at(np.array([place])))[0]:
            raise InvalidValueError(f"the point ({place[0]:g}, {place[1]:g}) is not on free space of the site")
        return place

    def _no_way(self, begin: int, end: int) -> str:
        points = np.array([self.points[begin], self.points[end]])
        found = self._router.find(points[0], points[1], self._radius, speed=SPEED, mode=RouteMode.AUTO, stands=False)
        return found.reason if isinstance(found, NoRoute) else ""

    def _measured(self) -> Lengths:
        network = self._network
        # Steps of a roadmap have lengths of their own, and a plan counts them alike.
        if network is not None and network.grid is not None:
            return LaneLengths(network, self._site.grid.cell)
        return RouteLengths(self._site, self._radius)
