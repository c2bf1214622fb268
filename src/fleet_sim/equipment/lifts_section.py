"""The section `lifts` of a scenario."""

from __future__ import annotations

from typing import Any

from fleet_sim.config.sections import SettingsSection
from fleet_sim.equipment.lift_building import build_lift
from fleet_sim.equipment.lift_settings import LiftsSettings
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.simulation import MultiRobotSimulationCore


class LiftsSection(SettingsSection[MultiRobotSimulationCore]):
    """Builds the lifts of a scenario; `sim.features.use("lift")` returns the Lifts."""

    doc = "Lifts between the levels of a building."
    of_building = True
    name = "lifts"
    settings_class = LiftsSettings

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build the lifts; raises ConfigError."""
        for index, lift in enumerate(self.read(entry, source).list):
            try:
                build_lift(sim, lift)
            except FleetSimError as error:
                raise ConfigError.of(error).within(f"lifts.list[{index}]", source=source) from error


SECTION = LiftsSection()
