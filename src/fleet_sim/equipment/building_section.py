"""Base of the sections that build equipment, one piece per entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from fleet_sim.config.sections import SettingsSection
from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.simulation import MultiRobotSimulationCore

# What builds the pieces of a section, one by one, each with the key that describes it.
Pieces: TypeAlias = Iterator[tuple[str, Callable[[], object]]]


class EquipmentSection(SettingsSection[MultiRobotSimulationCore]):
    """Builds what its settings list; what is wrong with a piece is told with the key that describes it."""

    of_building = True

    @abstractmethod
    def pieces(self, sim: MultiRobotSimulationCore, settings: Any) -> Pieces:
        """Yield what builds each piece, in the order in which they are built."""

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build all pieces; raises ConfigError."""
        for where, build in self.pieces(sim, self.read(entry, source)):
            try:
                build()
            except FleetSimError as error:
                raise ConfigError.of(error).within(where, source=source) from error
