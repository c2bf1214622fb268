"""DoorHandle: one door."""

from __future__ import annotations

import numpy as np

from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.feature_handle import FeatureHandle
from fleet_sim.equipment.door_columns import DoorColumns
from fleet_sim.equipment.door_settings import DoorMode
from fleet_sim.equipment.doors import command, modes_of


class DoorHandle(FeatureHandle[DoorColumns]):
    """A handle of one door, by its leaf. Raises StaleHandleError once the leaf was removed."""

    feature = "door"

    @property
    def _row(self) -> int:
        row = self._owner.row
        leader = int(self._part.leader[row])
        return row if leader == NO_ROW else leader

    @property
    def name(self) -> str:
        """The name of the door."""
        return self._owner.world.label(self._row)

    @property
    def opening(self) -> float:
        """How far it is open: 0 closed, 1 open."""
        return float(self._part.opening[self._row])

    @property
    def mode(self) -> DoorMode:
        """Whether it is open, closed or moving."""
        return modes_of(self._part, np.array([self._row]))[0]

    @property
    def is_held(self) -> bool:
        """Whether it waits to close, as a body is in its way."""
        return bool(self._part.held[self._row])

    def open(self) -> None:
        """Open it; it stays open until `close`."""
        command(self._part, np.array([self._row]), True)

    def close(self) -> None:
        """Close it; an automatic one opens again for robots."""
        command(self._part, np.array([self._row]), False)

    def __repr__(self) -> str:
        return f"<DoorHandle {self.name!r}: {self.mode}>"
