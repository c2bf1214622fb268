"""wait and waitForTrigger: standing at a node for a time, or until somebody says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import EDGE, NODE, ActionParameter, VehicleAction

LONGEST_WAIT = 1e6
TRIGGER = "trigger"
"""Stage of an entry that waits for a trigger."""


class WaitAtNode(VehicleAction):
    """Waits for `duration` s of simulated time."""

    scopes: ClassVar[tuple[str, ...]] = (NODE, EDGE)
    parameters: ClassVar[tuple[ActionParameter, ...]] = (
        ActionParameter("duration", "NUMBER", doc="in s of simulated time"),
    )
    doc = "Wait for a time."

    def check(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> str:
        """Refuse times that are none."""
        good = 0.0 <= parameters["duration"] <= LONGEST_WAIT
        return "" if good else f"parameter 'duration': expected 0 to {LONGEST_WAIT:g} s, got {parameters['duration']}"

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to wait."""
        entry.left = float(entry.action.parameters["duration"])

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """Check whether the time has passed."""
        if entry.spend(dt):
            self.finish(entry)


class WaitForTrigger(VehicleAction):
    """Waits for the instant action `trigger` (3.0), for `vehicle.control.trigger()` in Python, or a cancelled order."""

    parameters: ClassVar[tuple[ActionParameter, ...]] = (
        ActionParameter("triggerType", "LABELS", doc="a label: any trigger ends it"),
    )
    doc = "Wait for a trigger."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to wait."""
        entry.stage = TRIGGER
