"""The section `site` of a scenario: a building around its robots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fleet_sim.config.sections import Section
from fleet_sim.errors import ConfigError
from fleet_sim.paths import beside, resolve_config
from fleet_sim.settings import Checked, object_schema, read, setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.places import SitePlaces
from fleet_sim.sites.reading import read_site
from fleet_sim.sites.site import Site
from fleet_sim.sites.speed_zones import SpeedZones
from fleet_sim.sites.walls import build_walls


@dataclass
class SiteSettings(Checked):
    """A site of a scenario."""

    map: str = setting(doc="File of the site, relative to this one, in any format that `fleet-sim site show` reads.")
    level: str | None = setting(None, doc="The level of a building with several.")
    cell: float | None = setting(
        None, above=0, high=1e4, unit="m", doc="Size of the cells; null: that of the file. A whole number of times it."
    )
    wall_height: float = setting(1.0, above=0, high=100, unit="m", doc="How tall walls and shelves are.")


class SiteSection(Section[MultiRobotSimulationCore]):
    """Builds the walls of a site; `sim.get_manager("site")` returns the Site."""

    doc = "A building: its walls and shelves, stations and places to start from."
    settings: ClassVar[type[SiteSettings]] = SiteSettings

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an entry."""
        return {"anyOf": [{"type": "string"}, object_schema(self.settings)]}

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings or the file of the site are wrong."""
        self.read(entry, source)

    def prepare(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build the walls and offer the places of the site to robots and objects; raises ConfigError."""
        self.build(sim, *self.read(entry, source))

    def build(self, sim: MultiRobotSimulationCore, settings: SiteSettings, site: Site) -> None:
        """Add `site` to `sim`."""
        build_walls(sim, site, settings.wall_height)
        sim.world.places.offer("site", SitePlaces(sim.world, site))
        sim.register_manager(site, "site")
        speed_zones = SpeedZones(sim.world, site.zones)

        def leave() -> None:
            # `sim.clear()` removes the walls: nobody may start or be routed in a building that is gone.
            sim.world.places.withdraw("site")
            sim.unregister_manager(site)
            speed_zones.end()
            sim.events.off("cleared", leave)

        sim.events.on("cleared", leave)

    def read(self, entry: Any, source: str) -> tuple[SiteSettings, Site]:
        """Return the checked settings of an entry, and its site; raises ConfigError."""
        given = entry if isinstance(entry, Mapping) else {"map": entry}
        settings = read(self.settings, given, source=source, path="site")
        try:
            file = resolve_config(beside(source, settings.map), source=source)
            site = read_site(file, level=settings.level, cell=settings.cell)
        except ConfigError as error:
            raise error.within("site", source=source) from error
        return settings, site
