"""VehicleContext: what vehicles need of the simulation around them: building, traffic, batteries."""

from __future__ import annotations

from typing import cast

import numpy as np

from fleet_sim.core.energy import EnergyColumns, energy_columns_with
from fleet_sim.core.world import World
from fleet_sim.errors import FleetSimError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind
from fleet_sim.traffic.traffic import Traffic


class VehicleContext:
    """Looks up what a scenario may have or not have, at the time it is asked."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self.world: World = sim.world

    @property
    def site(self) -> Site | None:
        """The building; None where there is none."""
        site: Site | None = self._sim.extensions.find_manager("site")
        return site

    def traffic_of(self, row: int) -> Traffic | None:
        """Return the traffic that drives the robot; None for one that drives by itself."""
        if not self.world.routes.conveys(row):
            return None
        traffic: Traffic = self._sim.get_manager("traffic")
        return traffic

    def station(self, name: str) -> tuple[float, float] | None:
        """Return the place of a station; None where there is none of that name."""
        site = self.site
        try:
            station = None if site is None else site.station(name)
        except FleetSimError:
            return None
        return None if station is None else (station.x, station.y)

    def is_at_charger(self, place: tuple[float, float], reach: float) -> bool:
        """Return whether a charger is within `reach` m. Where a site has none, robots charge wherever they are."""
        site = self.site
        chargers = () if site is None else site.stations_of(StationKind.CHARGE)
        near = (
            station for station in chargers if (station.x - place[0]) ** 2 + (station.y - place[1]) ** 2 <= reach**2
        )
        return not chargers or any(True for _ in near)

    def battery(self, row: int) -> EnergyColumns | None:
        """Return the columns of batteries; None for a robot without one."""
        return energy_columns_with(self.world, row)

    def hindrance(self, row: int) -> str:
        """Return why a robot may not drive now; "" where it may."""
        world = self.world
        if world.parent[row] >= 0:
            return "it is carried by another robot"
        rows, conveyance = np.array([row]), cast(object, world.routes.conveyance)
        for rule in world.drive_rules:
            # The traffic refuses all who drive past it; vehicles in it are sent by it.
            if rule is not conveyance and rule.refuses(rows)[0]:
                return rule.reason
        return ""
