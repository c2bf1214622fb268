"""The registry of actions, and what the vehicles of a fleet can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.registry import Registry, subclasses_of
from fleet_sim.vda5050.context import VehicleContext
from fleet_sim.vda5050.vehicle import Vehicle
from fleet_sim.vda5050.work.action import VehicleAction, parameter_fault
from fleet_sim.vda5050.work.charging import StartCharging, StopCharging
from fleet_sim.vda5050.work.loads import DropLoad, PickLoad
from fleet_sim.vda5050.work.maps import DeleteMap, DownloadMap, EnableMap
from fleet_sim.vda5050.work.orders import CancelOrder, Retry, SkipRetry, StartPause, StopPause, Trigger
from fleet_sim.vda5050.work.position import InitializePosition, InitPosition
from fleet_sim.vda5050.work.requests import ClearInstantActions, FactsheetRequest, StateRequest
from fleet_sim.vda5050.work.waiting import WaitAtNode, WaitForTrigger
from fleet_sim.vda5050.work.zones import DeleteZoneSet, EnableZoneSet

VEHICLE_ACTIONS: Registry[type[VehicleAction]] = Registry(
    "vda5050 action",
    subclasses_of(VehicleAction),
    group="fleet_sim.vda5050_action",
    built_in={
        "cancelOrder": CancelOrder,
        "startPause": StartPause,
        "stopPause": StopPause,
        "stateRequest": StateRequest,
        "factsheetRequest": FactsheetRequest,
        "initPosition": InitPosition,
        "initializePosition": InitializePosition,
        "startCharging": StartCharging,
        "stopCharging": StopCharging,
        "pick": PickLoad,
        "drop": DropLoad,
        "wait": WaitAtNode,
        "waitForTrigger": WaitForTrigger,
        "trigger": Trigger,
        "retry": Retry,
        "skipRetry": SkipRetry,
        "enableMap": EnableMap,
        "downloadMap": DownloadMap,
        "deleteMap": DeleteMap,
        "clearInstantActions": ClearInstantActions,
        "enableZoneSet": EnableZoneSet,
        "deleteZoneSet": DeleteZoneSet,
    },
)
"""What vehicles can do, by actionType."""


class ActionOffer:
    """What the vehicles of one fleet can do: what is built in for its version, and what its settings add."""

    def __init__(self, context: VehicleContext, version: str, own: Mapping[str, Any]) -> None:
        """Raises InvalidValueError, or UnknownNameError, for a path in `own` that leads to no VehicleAction."""
        self.actions: dict[str, VehicleAction] = {}
        for name, cls in VEHICLE_ACTIONS.all().items():
            if version in cls.versions:
                self.actions[name] = cls(context)
        for name, path in own.items():
            if not isinstance(path, str):
                raise InvalidValueError(f"actions.{name}: expected package.module:Class, got {brief(path)}")
            self.actions[name] = VEHICLE_ACTIONS.find(path)(context)

    def refusal(self, vehicle: Vehicle, name: str, scope: str, parameters: Mapping[str, Any]) -> str:
        """Return why a vehicle cannot do the action `name` there with these parameters; "" where it can."""
        action = self.actions.get(name)
        if action is None:
            return f"action {brief(name)} is not understood"
        if scope not in action.scopes:
            return f"action {name!r} is for {', '.join(action.scopes)}, not for {scope}"
        return parameter_fault(action, parameters) or action.check(vehicle, parameters)
