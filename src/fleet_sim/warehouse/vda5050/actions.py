"""What vehicles do besides driving: the actions of nodes, edges and instant messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.errors import InvalidValueError, UnknownNameError, brief
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import attachments
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.warehouse.vda5050.order import BLOCKED, VehicleFault, VehicleZoneSet
from fleet_sim.warehouse.vda5050.vehicle import (
    ENDED,
    FAILED,
    FINISHED,
    RETRIABLE,
    RUNNING,
    ActionEntry,
    PositionPolicy,
    Vehicle,
    VehicleContext,
    VehicleMap,
)

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


# startCharging and stopCharging.


class StartCharging(VehicleAction):
    """Connects the battery to a charger; where the site has stations of the kind charge, only at one of them."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    doc = "Begin to charge."
    charging = True

    def check(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> str:
        """Refuse robots without a battery."""
        return "" if self.context.battery(vehicle.row) is not None else "it has no battery"

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Connect, or disconnect."""
        battery = self.context.battery(vehicle.row)
        if battery is None:
            self.fail(entry, "it has no battery")
        elif self.charging and not self.context.is_at_charger(vehicle.place, vehicle.settings.reach):
            self.fail(entry, f"there is no charger within {vehicle.settings.reach:g} m")
        else:
            battery.charging[vehicle.row] = self.charging
            vehicle.changed = True
            self.finish(entry)


class StopCharging(StartCharging):
    """Disconnects the battery."""

    doc = "Charge no longer."
    charging = False


# enableMap, downloadMap, deleteMap: the maps on a vehicle. Nothing is fetched: the scenario says which there are.


_MAP = (ActionParameter("mapId", "STRING"), ActionParameter("mapVersion", "STRING"))
DOWNLOAD_TIME = 2.0
"""How long a download takes, in s of simulated time."""


class MapAction(VehicleAction):
    """Base of what is done to one map on the vehicle."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT,)
    versions: ClassVar[tuple[str, ...]] = ("2.1", "3.0")
    parameters: ClassVar[tuple[ActionParameter, ...]] = _MAP

    def found(self, vehicle: Vehicle, given: Mapping[str, Any]) -> VehicleMap | None:
        """Return the map that is meant; None where the vehicle does not have it."""
        wanted = given["mapId"], given["mapVersion"]
        return next((item for item in vehicle.state.maps if (item.map_id, item.version) == wanted), None)


class EnableMap(MapAction):
    """Enables a map that is on the vehicle, and disables its other versions."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    doc = "Use a map."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Enable the requested map; fail the action if it is unknown."""
        chosen = self.found(vehicle, entry.action.parameters)
        if chosen is None:
            self.fail(entry, "there is no such map on the vehicle")
            return
        for item in vehicle.state.maps:
            if item.map_id == chosen.map_id:
                item.enabled = item is chosen
        if not vehicle.state.map_id:
            vehicle.state.map_id = chosen.map_id
        vehicle.changed = True
        self.finish(entry)


class DownloadMap(MapAction):
    """Gets a map that the settings have `on_server`; the link is not opened."""

    doc = "Get a map that the scenario has on its server; the link is not opened."
    parameters: ClassVar[tuple[ActionParameter, ...]] = (
        *_MAP,
        ActionParameter("mapDownloadLink", "STRING", doc="a label: it is not opened"),
        ActionParameter("mapHash", "STRING", True, "a label"),
    )

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin, unless the map is there already."""
        given = entry.action.parameters
        if self.found(vehicle, given) is not None:
            references = {"mapId": given["mapId"], "mapVersion": given["mapVersion"]}
            vehicle.report(VehicleFault("duplicate_map", "the map is on the vehicle already", references))
            self.fail(entry, "the map is on the vehicle already")
        entry.left = DOWNLOAD_TIME

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """End after a while."""
        if not entry.spend(dt):
            return
        given = entry.action.parameters
        wanted = given["mapId"], given["mapVersion"]
        known = [item for item in vehicle.settings.maps if (item.id, item.version) == wanted]
        if not known or known[0].status != "on_server":
            self.fail(entry, "there is no such map on the server")
            return
        vehicle.state.maps.append(VehicleMap(*wanted, False))
        vehicle.changed = True
        self.finish(entry)


class DeleteMap(MapAction):
    """Removes a map from the vehicle, unless it is in use."""

    doc = "Remove a map."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Remove it."""
        chosen = self.found(vehicle, entry.action.parameters)
        if chosen is None:
            self.fail(entry, "there is no such map on the vehicle")
        elif chosen.enabled and chosen.map_id == vehicle.state.map_id:
            self.fail(entry, "the vehicle uses this map")
        else:
            vehicle.state.maps.remove(chosen)
            vehicle.changed = True
            self.finish(entry)


# initPosition, from 3.0 on initializePosition: where the vehicle is, on which map.


class InitPosition(VehicleAction):
    """Puts the robot at a pose on a map, or only confirms that it is there (`init_position` of its fleet)."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    versions: ClassVar[tuple[str, ...]] = ("2.0", "2.1")
    doc = "Set pose, map and last node."
    parameters: ClassVar[tuple[ActionParameter, ...]] = (
        ActionParameter("x", "NUMBER", doc="in m"),
        ActionParameter("y", "NUMBER", doc="in m"),
        ActionParameter("theta", "NUMBER", doc="in rad"),
        ActionParameter("mapId", "STRING"),
        ActionParameter("lastNodeId", "STRING", True),
    )

    def check(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> str:
        """Refuse poses beyond the world and unknown maps."""
        numbers = [parameters[key] for key in ("x", "y", "theta")]
        extent = vehicle.world.extent
        if not all(math.isfinite(number) and abs(number) <= extent for number in numbers):
            return f"x, y, theta: the world ends {extent:g} m from its origin"
        if not any(item.map_id == parameters["mapId"] and item.enabled for item in vehicle.state.maps):
            return f"map {parameters['mapId']!r} is not enabled here"
        return ""

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Place the robot, or compare."""
        given, state = entry.action.parameters, vehicle.state
        goal = (float(given["x"]), float(given["y"]), math.remainder(float(given["theta"]), 2.0 * math.pi))
        reason = self._place(vehicle, goal)
        if reason:
            self.fail(entry, reason)
            return
        state.map_id = given["mapId"]
        vehicle.pass_node(given.get("lastNodeId", ""), 0)
        vehicle.changed = True
        self.finish(entry)

    def _place(self, vehicle: Vehicle, goal: tuple[float, float, float]) -> str:
        world, rows = vehicle.world, np.array([vehicle.row])
        x, y = vehicle.place
        gap = trig.hypot_of(goal[0] - x, goal[1] - y)
        turn = abs(math.remainder(goal[2] - vehicle.heading, 2.0 * math.pi))
        if gap <= 1e-6 and turn <= 1e-6:
            return ""
        if vehicle.settings.init_position is PositionPolicy.CONFIRM:
            near = gap <= vehicle.settings.node_tolerance and turn <= max(vehicle.settings.heading_tolerance, 0.1)
            return "" if near else f"it stands {gap:.2f} m and {turn:.2f} rad away from there"
        if vehicle.moves or self.context.traffic_of(vehicle.row) is not None or world.parent[vehicle.row] >= 0:
            return "it cannot be placed elsewhere while it drives, takes part in the traffic or is carried"
        place = np.array([[goal[0], goal[1], world.position[vehicle.row, 2]]])
        world.place(rows, place, quaternions.from_yaws(np.array([goal[2]])), preserve_velocity=False)
        if not world.in_step:
            attachments.follow_rows(world, rows)
        return ""


class InitializePosition(InitPosition):
    """The same, as it is called from 3.0 on."""

    versions: ClassVar[tuple[str, ...]] = ("3.0",)


# What a master control asks for: a state, a factsheet, a list without what has ended.


class StateRequest(InstantAction):
    """Sends a state; the state itself says that the action has ended."""

    doc = "Send a state."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Ask for a state."""
        vehicle.changed = True
        self.finish(entry)


class FactsheetRequest(InstantAction):
    """Sends the factsheet."""

    doc = "Send the factsheet."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Ask for the factsheet."""
        vehicle.wants_factsheet = True
        self.finish(entry)


class ClearInstantActions(VehicleAction):
    """Removes instant actions that have ended from the states."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT, NODE)
    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    at_once = True
    doc = "Report ended instant actions no longer."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Remove them; this one stays until the next time."""
        vehicle.state.instants = [item for item in vehicle.state.instants if item.status not in ENDED]
        self.finish(entry)


# wait and waitForTrigger: standing at a node for a time, or until somebody says so.


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


# enableZoneSet and deleteZoneSet: which zones hold on a map.


class EnableZoneSet(VehicleAction):
    """Activates a zone set in place of the active set of its map; between orders only."""

    scopes: ClassVar[tuple[str, ...]] = (INSTANT,)
    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    parameters: ClassVar[tuple[ActionParameter, ...]] = (ActionParameter("zoneSetId", "STRING"),)
    doc = "Use a zone set; between orders only."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Enable the requested zone set; fail the action if it is unknown."""
        state, chosen = vehicle.state, self._chosen(vehicle, entry)
        if chosen is None:
            self.fail(entry, "there is no such zone set on the vehicle")
        elif not vehicle.is_idle:
            self.fail(entry, "the vehicle has an order, which it took over with the zones that hold now")
        elif self.context.traffic_of(vehicle.row) is not None:
            self.fail(entry, "the vehicle is driven by the traffic of the site, which plans its way")
        else:
            for item in state.zone_sets:
                if item.map_id == chosen.map_id:
                    item.enabled = item is chosen
            self._look_around(vehicle)
            self.finish(entry)

    def _chosen(self, vehicle: Vehicle, entry: ActionEntry) -> VehicleZoneSet | None:
        wanted = entry.action.parameters["zoneSetId"]
        return next((item for item in vehicle.state.zone_sets if item.zone_set_id == wanted), None)

    def _look_around(self, vehicle: Vehicle) -> None:
        vehicle.take_back("blocked_zone")
        for zone in vehicle.zones_here():
            if zone.kind == BLOCKED:
                vehicle.report(VehicleFault("blocked_zone", "the vehicle is in this zone", {"zoneId": zone.zone_id}))


class DeleteZoneSet(EnableZoneSet):
    """Removes a zone set that is not enabled."""

    doc = "Remove a zone set."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Remove it."""
        state, chosen = vehicle.state, self._chosen(vehicle, entry)
        if chosen is None:
            self.fail(entry, "there is no such zone set on the vehicle")
        elif chosen.enabled:
            self.fail(entry, "the zone set is in use")
        else:
            state.zone_sets.remove(chosen)
            self.finish(entry)


# pick and drop: objects of the world are attached to the robot, and put down.


_LABELS = (
    ActionParameter("stationType", "STRING", True, "a label"),
    ActionParameter("stationName", "STRING", True, "a label"),
    ActionParameter("loadType", "STRING", True, "a label, told with the load in states"),
    ActionParameter("loadId", "STRING", True, "name of the object; without it the nearest one, or the first carried"),
)


class LoadAction(VehicleAction):
    """Handles a load for some time, and only then takes it or puts it down; it cannot be canceled in between."""

    parameters: ClassVar[tuple[ActionParameter, ...]] = _LABELS
    can_cancel = False

    def time(self, vehicle: Vehicle) -> float:
        """Return how long it takes, in s."""
        raise NotImplementedError

    def hand_over(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Take the load or put it down, when the time has passed, and end the action."""
        raise NotImplementedError

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to handle the load."""
        entry.left = self.time(vehicle)

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """Take or put down the load when the time has passed."""
        if entry.spend(dt):
            self.hand_over(vehicle, entry)


class PickLoad(LoadAction):
    """Takes an object that is within reach; `loadId` is its name. It ends where the object then is, on the robot."""

    doc = "Take a load that is within reach."

    def time(self, vehicle: Vehicle) -> float:
        """Return the time to pick."""
        return vehicle.settings.pick_time

    def hand_over(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Attach the object; fail where there is none that can be taken."""
        found = self._found(vehicle, entry.action.parameters)
        if isinstance(found, str):
            self.fail(entry, found)
        elif not vehicle.agent.attach_object(found, keep_world_pose=True):
            self.fail(entry, f"{found.name!r} cannot be taken")
        else:
            kind = entry.action.parameters.get("loadType")
            if kind is not None:
                vehicle.state.load_types[found.object_id] = kind
            self.finish(entry, found.name or "")

    def _found(self, vehicle: Vehicle, parameters: Mapping[str, Any]) -> SimObject | str:
        reach, wanted = vehicle.settings.reach, parameters.get("loadId")
        if wanted is None:
            nearest = vehicle.agent.find_nearest_pickable(reach, use_2d_search=True)
            return nearest if nearest is not None else f"there is no load within {reach:g} m"
        world = vehicle.world
        try:
            found: SimObject = world.handles[world.index.row_named(wanted)]
        except UnknownNameError:
            return f"there is no load {wanted!r}"
        x, y = vehicle.place
        gap = ((found.position[0] - x) ** 2 + (found.position[1] - y) ** 2) ** 0.5
        if gap > reach:
            return f"load {wanted!r} is {gap:.2f} m away, within reach are {reach:g} m"
        if found.row == vehicle.row or not found.pickable or found.attached_to is not None:
            return f"load {wanted!r} cannot be taken: it is held by another robot, or is no load"
        return found


class DropLoad(LoadAction):
    """Puts down an object that it carries, where that is; `loadId` is its name."""

    doc = "Put down a load."

    def time(self, vehicle: Vehicle) -> float:
        """Return the time to put down."""
        return vehicle.settings.drop_time

    def hand_over(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Detach the object; fail where it is not carried."""
        wanted = entry.action.parameters.get("loadId")
        carried = [load for load in vehicle.agent.get_attached_objects() if wanted in (None, load.name)]
        if not carried:
            self.fail(entry, "it carries no load" if wanted is None else f"it does not carry load {wanted!r}")
            return
        vehicle.agent.detach_object(carried[0])
        vehicle.state.load_types.pop(carried[0].object_id, None)
        self.finish(entry, carried[0].name or "")


# What a master control does to the order under way: cancel, pause, trigger, retry.


_ACTION_ID = (ActionParameter("actionId", "STRING"),)


class CancelOrder(InstantAction):
    """Cancels the order; FINISHED once the vehicle stands and nothing of the order runs any more."""

    doc = "Cancel the order."
    parameters: ClassVar[tuple[ActionParameter, ...]] = (ActionParameter("orderId", "STRING", True, "from 3.0 on"),)

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to cancel, where there is an order."""
        state = vehicle.state
        wanted = entry.action.parameters.get("orderId", state.order_id)
        if vehicle.is_idle or wanted != state.order_id:
            reason = "there is no order to cancel" if vehicle.is_idle else f"order {wanted!r} is not the active one"
            self.fail(entry, reason)
            vehicle.report(VehicleFault("no_order", reason, {"actionId": entry.action.action_id}))
            return
        vehicle.control.cancel(entry)


class StartPause(InstantAction):
    """Stops the vehicle, and pauses its actions."""

    doc = "Pause."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to brake, where it drives."""
        vehicle.control.pause()

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """End when it stands."""
        if not vehicle.state.braking:
            self.finish(entry)


class StopPause(InstantAction):
    """Lets the vehicle go on."""

    doc = "Go on after a pause."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Go on."""
        vehicle.control.resume()
        self.finish(entry)


class Trigger(InstantAction):
    """Ends the actions that wait for a trigger."""

    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    doc = "Tell the vehicle that what it waits for has happened."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Tell the waiting actions."""
        if vehicle.control.trigger():
            self.finish(entry)
        else:
            self.fail(entry, "nothing waits for a trigger")


class Retry(InstantAction):
    """Tries an action again that failed and may be retried."""

    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    doc = "Try a failed action again."
    parameters: ClassVar[tuple[ActionParameter, ...]] = _ACTION_ID
    skip = False

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Try it again, or give it up."""
        wanted = entry.action.parameters["actionId"]
        if vehicle.control.retry(wanted, skip=self.skip):
            self.finish(entry)
        else:
            self.fail(entry, f"action {wanted!r} is not RETRIABLE")


class SkipRetry(Retry):
    """Gives an action up that could be retried."""

    doc = "Give up a failed action."
    skip = True


# The registry of actions, and what the vehicles of a fleet can do.


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
