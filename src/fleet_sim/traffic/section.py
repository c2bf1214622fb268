"""The section `site` of a scenario, with routes in its building."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.section import SiteSection, SiteSettings
from fleet_sim.sites.site import Site
from fleet_sim.traffic.router import LARGEST_RADIUS, Router
from fleet_sim.traffic.site_routes import SiteRoutes


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
