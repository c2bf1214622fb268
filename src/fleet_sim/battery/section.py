"""The section `battery` of a scenario: settings common to all batteries."""

from __future__ import annotations

from typing import Any

from fleet_sim.battery.batteries import Batteries
from fleet_sim.battery.settings import BatterySectionSettings
from fleet_sim.config.sections import Section
from fleet_sim.settings import object_schema, read
from fleet_sim.simulation import MultiRobotSimulationCore


class BatterySection(Section[MultiRobotSimulationCore]):
    """Reads the section. The battery of a robot is in the robot's entry."""

    doc = "Settings common to all batteries; those of one robot are in its entry."

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of BatterySectionSettings."""
        return object_schema(BatterySectionSettings)

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings are wrong."""
        read(BatterySectionSettings, entry, source=source, path="battery")

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Give the settings to the batteries of `sim`; raises ConfigError."""
        batteries: Batteries = sim.features.use("battery")
        batteries.section = read(BatterySectionSettings, entry, source=source, path="battery")


SECTION = BatterySection()
