"""The section `site` of a scenario, with routes in its building."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.params import RouteMode
from fleet_sim.base.settings import setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.section import SiteSection, SiteSettings
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.router import LARGEST_RADIUS, Passing, Router, past_all, retreat, standing_discs
from fleet_sim.world.routes import NoRoute, Route, RouteNeeds, Stretch, Wanted
from fleet_sim.world.world import World


class SiteRoutes:
    """The ways of `router` for the robots of `world` (a RouteSource). A site is one storey, whatever heights say."""

    detours: ClassVar[bool] = True

    def __init__(self, world: World, router: Router) -> None:
        self._world, self._router = world, router

    def find(self, start: Floats, goal: Floats, radius: float, *, speed: float, mode: RouteMode) -> Route | NoRoute:
        """Return the route from `start` to `goal` (3,) in m, or why there is none."""
        return self._router.find(start, goal, radius, speed=speed, mode=mode)

    def journey(
        self, row: int, start: Floats, goal: Floats, needs: RouteNeeds, *, detour: bool
    ) -> list[Stretch] | NoRoute:
        """Return `find` as a way of one stretch; a detour leads around robots that stand near the one in `row`."""
        radius, speed, mode = needs
        if not detour:
            found = self.find(start, goal, radius, speed=speed, mode=mode)
            return found if isinstance(found, NoRoute) else [Stretch(found)]

        def find(past: Passing) -> list[Route] | NoRoute:
            return past.whole(past.router.find(past.clear, goal, radius, speed=speed, mode=mode))

        return _stretches(past_all(self._router, start[:2], self._discs(row), radius, find))

    def retreat(
        self, row: int, start: Floats, radius: float, *, speed: float, wanted: Wanted
    ) -> list[Stretch] | NoRoute:
        """Return the way of the robot in `row` from `start` (3,) to the nearest place that is `wanted`."""
        discs = self._discs(row)
        return _stretches(retreat(self._router, start[:2], discs, radius, speed=speed, wanted=wanted))

    def rise(self, start: float, goal: float) -> float:
        """Return 0: a site is one storey."""
        return 0.0

    def _discs(self, row: int) -> Floats:
        return standing_discs(self._world, row, -np.inf, np.inf)


def _stretches(routes: list[Route] | NoRoute) -> list[Stretch] | NoRoute:
    return routes if isinstance(routes, NoRoute) else [Stretch(route) for route in routes]


@dataclass
class RoutedSiteSettings(SiteSettings):
    """A site of a scenario, and how robots are routed in it."""

    clearance: float | None = setting(
        None,
        low=0.0,
        high=LARGEST_RADIUS,
        unit="m",
        doc="Room that routes leave between footprints and walls; null: the collision margin of the simulation.",
    )


class RoutedSiteSection(SiteSection):
    """Builds a site and offers routes in it; `sim.get_manager("router")` returns the Router."""

    settings = RoutedSiteSettings

    def build(self, sim: MultiRobotSimulationCore, settings: SiteSettings, site: Site) -> None:
        """Add the site to `sim`, and the routes."""
        super().build(sim, settings, site)
        assert isinstance(settings, RoutedSiteSettings)
        offer_routes(sim, site, settings.clearance)


def offer_routes(sim: MultiRobotSimulationCore, site: Site, clearance: float | None = None) -> Router:
    """Let the robots of `sim` take routes in `site`; returns the Router, which is also the manager "router".

    `clearance` in m is the room between footprints and walls; None: the collision margin of the simulation. Raises
    DuplicateNameError where there are routes already.
    """
    # What is nearer than the margin counts as a collision.
    router = Router(site, sim.params.collision_margin if clearance is None else clearance)
    sim.register_manager(router, "router")
    sim.world.routes.offer(SiteRoutes(sim.world, router))

    def leave() -> None:
        # With `sim.clear()` the building is gone.
        sim.world.routes.withdraw()
        sim.unregister_manager(router)
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)
    return router


SECTION = RoutedSiteSection()
