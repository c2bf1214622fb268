"""LiftHandle: one lift."""

from __future__ import annotations

from fleet_sim.entities.feature_handle import FeatureHandle
from fleet_sim.equipment.lifts import Lifts


class LiftHandle(FeatureHandle[Lifts]):
    """A handle of one lift, by its cabin. Raises StaleHandleError once that was removed."""

    feature = "lift"

    @property
    def name(self) -> str:
        """Its name."""
        return self._owner.world.label(self._owner.row)

    @property
    def floors(self) -> tuple[str, ...]:
        """The floors it goes to."""
        return self._part.plan(self._owner.row).names

    @property
    def floor(self) -> str:
        """The floor it is at; between two, the nearer one."""
        row = self._owner.row
        return self._part.plan(row).names[int(self._part.table.floor[row])]

    @property
    def destination(self) -> str:
        """The floor it was sent to."""
        row = self._owner.row
        return self._part.plan(row).names[int(self._part.table.goal[row])]

    @property
    def height(self) -> float:
        """Height of the floor of its cabin in m."""
        return float(self._part.table.height[self._owner.row])

    @property
    def is_busy(self) -> bool:
        """Whether it is still on its way, or its doors are."""
        return bool(self._part.table.busy[self._owner.row])

    @property
    def calls(self) -> tuple[str, ...]:
        """The floors where it is waited for, in the order in which it will come."""
        row = self._owner.row
        names = self._part.plan(row).names
        return tuple(names[floor] for floor in self._part.session(row).calls)

    def call(self, floor: str) -> None:
        """Let it come to `floor`, after those who called before; raises UnknownNameError."""
        row = self._owner.row
        self._part.call(row, self._part.plan(row).floor(floor))

    def __repr__(self) -> str:
        return f"<LiftHandle {self.name!r} at {self.floor!r}>"
