"""The section `doors` of a scenario."""

from __future__ import annotations

from functools import partial

from fleet_sim.equipment.building_section import EquipmentSection, Pieces
from fleet_sim.equipment.door_building import build_door, settings_of
from fleet_sim.equipment.door_settings import DoorsSettings
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Door


class DoorsSection(EquipmentSection):
    """Builds the doors of a scenario; `sim.features.use("door")` returns the Doors."""

    doc = "Doors: those of the site, and others."
    name = "doors"
    settings_class = DoorsSettings

    def pieces(self, sim: MultiRobotSimulationCore, settings: DoorsSettings) -> Pieces:
        """Yield what builds each door: first those of the site, where there is one, then those that are listed."""
        site = sim.extensions.find_manager("site") if settings.site else None
        for door in site.doors if site else ():

            def build(door: Door = door) -> object:
                time, automatic = settings.time, settings.automatic
                return build_door(sim, settings_of(door, floor=0.0, time=time, automatic=automatic))

            yield "doors.site", build
        for index, entry in enumerate(settings.list):
            yield f"doors.list[{index}]", partial(build_door, sim, entry)


SECTION = DoorsSection()
