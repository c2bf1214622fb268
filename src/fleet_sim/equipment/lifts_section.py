"""The section `lifts` of a scenario."""

from __future__ import annotations

from typing import Any

from fleet_sim.config.sections import Section
from fleet_sim.equipment.lift_building import build_lift
from fleet_sim.equipment.lift_settings import LiftsSettings
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.settings import object_schema, read
from fleet_sim.simulation import MultiRobotSimulationCore


class LiftsSection(Section[MultiRobotSimulationCore]):
    """Builds the lifts of a scenario; `sim.features.use("lift")` returns the Lifts."""

    doc = "Lifts between the levels of a building."
    of_building = True

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of LiftsSettings."""
        schema = object_schema(LiftsSettings)
        # An empty section is null in YAML.
        return {**schema, "type": [schema["type"], "null"]}

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings are wrong."""
        self._read(entry, source)

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build the lifts; raises ConfigError."""
        for index, lift in enumerate(self._read(entry, source).list):
            try:
                build_lift(sim, lift)
            except FleetSimError as error:
                raise ConfigError.of(error).within(f"lifts.list[{index}]", source=source) from error

    def _read(self, entry: Any, source: str) -> LiftsSettings:
        return read(LiftsSettings, {} if entry is None else entry, source=source, path="lifts")


SECTION = LiftsSection()
