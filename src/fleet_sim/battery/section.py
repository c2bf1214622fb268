"""The section `battery` of a scenario: settings common to all batteries."""

from __future__ import annotations

from typing import Any

from fleet_sim.battery.batteries import Batteries
from fleet_sim.battery.settings import BatterySectionSettings
from fleet_sim.config.sections import SettingsSection
from fleet_sim.simulation import MultiRobotSimulationCore


class BatterySection(SettingsSection[MultiRobotSimulationCore]):
    """Reads the section. The battery of a robot is in the robot's entry."""

    doc = "Settings common to all batteries; those of one robot are in its entry."
    name = "battery"
    settings_class = BatterySectionSettings

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Give the settings to the batteries of `sim`; raises ConfigError."""
        batteries: Batteries = sim.features.use("battery")
        batteries.section = self.read(entry, source)


SECTION = BatterySection()
