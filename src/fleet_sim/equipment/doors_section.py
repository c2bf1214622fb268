"""The section `doors` of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fleet_sim.config.sections import SettingsSection
from fleet_sim.equipment.door_building import build_door, settings_of
from fleet_sim.equipment.door_settings import DoorSettings, DoorsSettings
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.simulation import MultiRobotSimulationCore


class DoorsSection(SettingsSection[MultiRobotSimulationCore]):
    """Builds the doors of a scenario; `sim.features.use("door")` returns the Doors."""

    doc = "Doors: those of the site, and others."
    of_building = True
    name = "doors"
    settings_class = DoorsSettings

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build the doors; raises ConfigError."""
        settings: DoorsSettings = self.read(entry, source)
        for where, make in _doors(sim, settings):
            try:
                build_door(sim, make())
            except FleetSimError as error:
                raise ConfigError.of(error).within(where, source=source) from error


def _doors(sim: MultiRobotSimulationCore, settings: DoorsSettings) -> Iterator[tuple[str, Callable[[], DoorSettings]]]:
    """Yield what makes the settings of each door, with the key that describes it."""
    # A scenario without a site has the doors that it lists.
    site = sim.extensions.find_manager("site") if settings.site else None
    for door in site.doors if site else ():
        time, automatic = settings.time, settings.automatic
        yield "doors.site", partial(settings_of, door, floor=0.0, time=time, automatic=automatic)
    for index, entry in enumerate(settings.list):
        yield f"doors.list[{index}]", partial(_as_it_is, entry)


def _as_it_is(entry: DoorSettings) -> DoorSettings:
    return entry


SECTION = DoorsSection()
