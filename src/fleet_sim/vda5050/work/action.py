"""VehicleAction: the interface of what a vehicle can be told to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from fleet_sim.errors import brief
from fleet_sim.vda5050.context import VehicleContext
from fleet_sim.vda5050.vehicle import FAILED, FINISHED, RETRIABLE, RUNNING, ActionEntry, Vehicle

INSTANT, NODE, EDGE = "INSTANT", "NODE", "EDGE"


class ActionParameter(NamedTuple):
    """A parameter that an action understands; `kind` is STRING, NUMBER, BOOL, ARRAY or LABELS."""

    key: str
    kind: str
    optional: bool = False
    doc: str = ""


_KINDS: Mapping[str, tuple[type, ...]] = {
    "STRING": (str,),
    "NUMBER": (int, float),
    "BOOL": (bool,),
    "ARRAY": (list,),
} | {
    # A text in 2.x and a list from 3.0 on.
    "LABELS": (str, list)
}


class VehicleAction:
    """Something that vehicles do. One object serves all vehicles: what it remembers is in the entry.

    A subclass says by `scopes` where it may stand, and overrides `begin` and `proceed`; both end the action with
    `finish` or `fail`. A class for users' own names is given in `actions:` of a fleet, as package.module:Class.
    """

    scopes: ClassVar[tuple[str, ...]] = (NODE,)
    parameters: ClassVar[tuple[ActionParameter, ...]] = ()
    versions: ClassVar[tuple[str, ...]] = ("2.0", "2.1", "3.0")
    doc: ClassVar[str] = ""
    at_once: ClassVar[bool] = False
    """As an instant action: begins whatever else runs, and is over at once."""
    can_pause: ClassVar[bool] = True
    can_cancel: ClassVar[bool] = True

    def __init__(self, context: VehicleContext) -> None:
        self.context = context

    # ---- to override -------------------------------------------------------------------------------------------------

    def check(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> str:
        """Return why `vehicle` cannot do it with these parameters, which have the right types; "" where it can."""
        return ""

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin; the status is RUNNING."""

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """Go on, in each step."""

    def end(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Clean up; called once, however it ended."""

    # ---- ending ------------------------------------------------------------------------------------------------------

    def finish(self, entry: ActionEntry, result: str = "") -> None:
        """End with success."""
        entry.status, entry.result = FINISHED, result

    def fail(self, entry: ActionEntry, reason: str) -> None:
        """End without success; an action that may be retried waits for that."""
        entry.status = RETRIABLE if entry.action.retriable and entry.status == RUNNING else FAILED
        entry.result = reason


class InstantAction(VehicleAction):
    """An action of instant messages only, which is begun whatever else runs."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT,)
    at_once = True


def parameter_fault(action: VehicleAction, given: Mapping[str, Any]) -> str:
    """Return what is wrong with parameters: a missing, an unknown or one of the wrong type; "" where nothing is."""
    known = {item.key: item for item in action.parameters}
    for key in given:
        if key not in known:
            return f"parameter {brief(key)} is not understood; understood are: {', '.join(known) or 'none'}"
    for item in action.parameters:
        if item.key not in given:
            if not item.optional:
                return f"parameter {item.key!r} is missing"
            continue
        value = given[item.key]
        # true is a number in Python.
        if not isinstance(value, _KINDS[item.kind]) or (item.kind == "NUMBER" and isinstance(value, bool)):
            return f"parameter {item.key!r}: expected {item.kind}, got {brief(value)}"
    return ""
