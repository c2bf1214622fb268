"""What goes wrong for a vehicle, as each generation of the standard calls it: the errors in its states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fleet_sim.errors import FleetSimError
from fleet_sim.saved_classes import saved

ORDER, INSTANT, STANDING = "order", "instant", "standing"
"""When an error goes: with the next accepted order, with the next accepted instant action, when its cause goes."""


class FaultKind(NamedTuple):
    """A kind of fault: type and level in 2.x, type and level from 3.0 on, and when it goes."""

    second: str
    second_level: str
    third: str
    third_level: str
    until: str = ORDER


FAULTS: dict[str, FaultKind] = {
    "malformed": FaultKind("validationError", "WARNING", "VALIDATION_FAILURE", "WARNING"),
    "unsupported": FaultKind("orderError", "WARNING", "UNSUPPORTED_PARAMETER", "CRITICAL"),
    "action": FaultKind("orderError", "WARNING", "INVALID_ORDER_ACTION", "WARNING"),
    "outdated": FaultKind("orderUpdateError", "WARNING", "OUTDATED_ORDER_UPDATE", "WARNING"),
    # A continuation that does not fit has no type of its own in 3.0.
    "gap": FaultKind("orderUpdateError", "WARNING", "VALIDATION_FAILURE", "WARNING"),
    "same_update": FaultKind("orderUpdateError", "WARNING", "SAME_ORDER_UPDATE_ID", "WARNING"),
    "cancelled": FaultKind("orderUpdateError", "WARNING", "ORDER_UPDATE_FOLLOWING_CANCEL", "WARNING"),
    "other_order": FaultKind("orderError", "WARNING", "OTHER_ORDER_ACTIVE", "WARNING"),
    "start": FaultKind("noRouteError", "WARNING", "START_NODE_OUT_OF_RANGE", "WARNING"),
    "no_route": FaultKind("noRouteError", "WARNING", "NO_ROUTE_TO_TARGET", "WARNING"),
    "map": FaultKind("orderError", "WARNING", "UNKNOWN_MAP_ID", "WARNING"),
    "no_order": FaultKind("noOrderToCancel", "WARNING", "NO_ORDER_TO_CANCEL", "WARNING"),
    "instant": FaultKind("instantActionError", "WARNING", "INVALID_INSTANT_ACTION", "WARNING", INSTANT),
    "malformed_instant": FaultKind("validationError", "WARNING", "VALIDATION_FAILURE", "WARNING", INSTANT),
    "action_failed": FaultKind("actionError", "WARNING", "ACTION_FAILED", "CRITICAL"),
    "unreachable": FaultKind("nodeUnreachable", "FATAL", "NODE_UNREACHABLE", "CRITICAL"),
    "held": FaultKind("drivingPrevented", "WARNING", "DRIVING_PREVENTED", "URGENT", STANDING),
    "low_battery": FaultKind("batteryLow", "WARNING", "BATTERY_LOW", "URGENT", STANDING),
    "duplicate_map": FaultKind("duplicateMap", "WARNING", "DUPLICATE_MAP", "WARNING", INSTANT),
    "zone_set": FaultKind("zoneSetError", "WARNING", "VALIDATION_FAILURE", "WARNING", INSTANT),
    "duplicate_zone_set": FaultKind("zoneSetError", "WARNING", "DUPLICATE_ZONE_SET", "WARNING", INSTANT),
    "blocked_zone": FaultKind("zoneError", "FATAL", "BLOCKED_ZONE_VIOLATION", "CRITICAL", STANDING),
    "release_lost": FaultKind("zoneError", "FATAL", "RELEASE_LOST", "CRITICAL", STANDING),
}
"""The kinds by our name. Types that the standard does not name are ours."""


@saved
@dataclass
class VehicleFault:
    """A fault that a vehicle reports: its kind, what happened, and what it is about."""

    kind: str
    description: str
    references: dict[str, str] = field(default_factory=dict)

    def values(self, third: bool) -> dict[str, object]:
        """Return the error of a state."""
        kind = FAULTS[self.kind]
        return {
            "errorType": kind.third if third else kind.second,
            "errorLevel": kind.third_level if third else kind.second_level,
            "errorDescription": self.description,
            "errorReferences": [
                {"referenceKey": key, "referenceValue": value} for key, value in self.references.items()
            ],
        }


class Refused(FleetSimError):
    """An order, an action or a message is refused: the fault that the vehicle then reports."""

    def __init__(self, kind: str, description: str, **references: object) -> None:
        super().__init__(description)
        self.fault = VehicleFault(kind, description, {key: str(value) for key, value in references.items()})


MOST_FAULTS = 30
"""Errors in a state; of more, the oldest are left out."""


def report(faults: list[VehicleFault], fault: VehicleFault) -> None:
    """Add a fault to those that are reported; the same one is reported once."""
    if fault in faults:
        faults.remove(fault)
    faults.append(fault)
    del faults[:-MOST_FAULTS]


def settle(faults: list[VehicleFault], until: str) -> None:
    """Take back the faults that go now: with an order, or with an instant action."""
    faults[:] = [fault for fault in faults if FAULTS[fault.kind].until != until]


def take_back(faults: list[VehicleFault], kind: str) -> bool:
    """Take back the faults of a kind, whose cause is gone; return whether there were any."""
    before = len(faults)
    faults[:] = [fault for fault in faults if fault.kind != kind]
    return len(faults) < before
