"""Base of the sections that build equipment, one piece per entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from fleet_sim.config.sections import SettingsSection
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.simulation import MultiRobotSimulationCore


class EquipmentSection(SettingsSection[MultiRobotSimulationCore]):
    """Builds what its settings list; what is wrong with a piece is told with the key that describes it."""

    of_building = True

    @abstractmethod
    def pieces(self, sim: MultiRobotSimulationCore, settings: Any) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield a function that builds one piece, with the key that describes it, piece by piece."""

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build all pieces; raises ConfigError."""
        for where, build in self.pieces(sim, self.read(entry, source)):
            try:
                build()
            except FleetSimError as error:
                raise ConfigError.of(error).within(where, source=source) from error
