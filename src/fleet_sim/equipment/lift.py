"""LiftHandle: one lift."""

from __future__ import annotations

from fleet_sim.entities.feature_handle import FeatureHandle
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.equipment.lifts import Lifts


class LiftHandle(FeatureHandle):
    """A handle of one lift, by its cabin. Raises StaleHandleError once that was removed."""

    feature = "lift"

    def __init__(self, cabin: SimObject, lifts: Lifts) -> None:
        self._cabin = cabin
        self._lifts = lifts

    @property
    def name(self) -> str:
        """Its name."""
        return self._cabin.world.label(self._cabin.row)

    @property
    def floors(self) -> tuple[str, ...]:
        """The floors it goes to."""
        return self._lifts.plan(self._cabin.row).names

    @property
    def floor(self) -> str:
        """The floor it is at; between two, the nearer one."""
        row = self._cabin.row
        return self._lifts.plan(row).names[int(self._lifts.table.floor[row])]

    @property
    def destination(self) -> str:
        """The floor it was sent to."""
        row = self._cabin.row
        return self._lifts.plan(row).names[int(self._lifts.table.goal[row])]

    @property
    def height(self) -> float:
        """Height of the floor of its cabin in m."""
        return float(self._lifts.table.height[self._cabin.row])

    @property
    def is_busy(self) -> bool:
        """Whether it is still on its way, or its doors are."""
        return bool(self._lifts.table.busy[self._cabin.row])

    @property
    def calls(self) -> tuple[str, ...]:
        """The floors where it is waited for, in the order in which it will come."""
        row = self._cabin.row
        names = self._lifts.plan(row).names
        return tuple(names[floor] for floor in self._lifts.session(row).calls)

    def call(self, floor: str) -> None:
        """Let it come to `floor`, after those who called before; raises UnknownNameError."""
        row = self._cabin.row
        self._lifts.call(row, self._lifts.plan(row).floor(floor))

    def __repr__(self) -> str:
        return f"<LiftHandle {self.name!r} at {self.floor!r}>"
