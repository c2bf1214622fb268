"""What vehicles do besides driving: the actions of nodes, edges and instant messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partialmethod
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from fleet_sim.base.errors import InvalidValueError, UnknownNameError, brief
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import attachments
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.warehouse.vda5050 import vehicle as vehicles
from fleet_sim.warehouse.vda5050.order import BLOCKED, VehicleFault, VehicleZoneSet

INSTANT, NODE, EDGE = "INSTANT", "NODE", "EDGE"
Found = TypeVar("Found")


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

    def __init__(self, context: vehicles.VehicleContext) -> None:
        self.context = context

    # ---- to override -------------------------------------------------------------------------------------------------

    def check(self, vehicle: vehicles.Vehicle, parameters: Mapping[str, Any]) -> str:
        """Return why `vehicle` cannot do it with these parameters, which have the right types; "" where it can."""
        return ""

    def begin(self, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
        """Begin; the status is RUNNING."""

    def proceed(self, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, dt: float) -> None:
        """Go on, in each step."""

    def end(self, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
        """Clean up; called once, however it ended."""

    # ---- ending ------------------------------------------------------------------------------------------------------

    def finish(self, entry: vehicles.ActionEntry, result: str = "") -> None:
        """End with success."""
        entry.status, entry.result = vehicles.FINISHED, result

    def fail(self, entry: vehicles.ActionEntry, reason: str) -> None:
        """End without success; an action that may be retried waits for that."""
        entry.status = (
            vehicles.RETRIABLE if entry.action.retriable and entry.status == vehicles.RUNNING else vehicles.FAILED
        )
        entry.result = reason


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


# The actions that are built in: each a function that begins it, and what else `VehicleAction` has, by name.


SINCE_2_1, BEFORE_3, SINCE_3 = ("2.1", "3.0"), ("2.0", "2.1"), ("3.0",)
ANYTIME = {"scopes": (INSTANT,), "at_once": True}
"""Of an action of instant messages only, which is begun whatever else runs."""
Begin = Callable[[VehicleAction, vehicles.Vehicle, vehicles.ActionEntry], None]

_BUILT_IN: dict[str, type[VehicleAction]] = {}


def _add(name: str, doc: str, begin: Begin, **about: Any) -> None:
    """Add the action `name`."""
    members = {"__doc__": doc, "__module__": __name__, "doc": doc, "begin": begin, **about}
    _BUILT_IN[name] = type(name, (VehicleAction,), members)


def _built_in(name: str, doc: str, **about: Any) -> Callable[[Begin], Begin]:
    """Add an action, which the function below begins."""

    def add(begin: Begin) -> Begin:
        _add(name, doc, begin, **about)
        return begin

    return add


def _chosen(known: Iterable[Found], wanted: object, name_of: Callable[[Found], object]) -> Found | None:
    """Return the one of `known` that has the name `wanted`; None where there is none."""
    return next((item for item in known if name_of(item) == wanted), None)


# startCharging and stopCharging: at the stations of the kind charge only, where the site has any.


def _check_battery(action: VehicleAction, vehicle: vehicles.Vehicle, parameters: Mapping[str, Any]) -> str:
    return "" if action.context.battery(vehicle.row) is not None else "it has no battery"


def _charge(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, *, on: bool) -> None:
    battery = action.context.battery(vehicle.row)
    if battery is None:
        action.fail(entry, "it has no battery")
    elif on and not action.context.is_at_charger(vehicle.place, vehicle.settings.reach):
        action.fail(entry, f"there is no charger within {vehicle.settings.reach:g} m")
    else:
        battery.charging[vehicle.row] = on
        vehicle.changed = True
        action.finish(entry)


for _name, _doc, _on in (("startCharging", "Begin to charge.", True), ("stopCharging", "Charge no longer.", False)):
    _add(_name, _doc, partialmethod(_charge, on=_on), scopes=(INSTANT, NODE), check=_check_battery)  # type: ignore[arg-type]  # one of a class


# enableMap, downloadMap, deleteMap: the maps on a vehicle. Nothing is fetched: the scenario says which there are.


_MAP = (ActionParameter("mapId", "STRING"), ActionParameter("mapVersion", "STRING"))
DOWNLOAD_TIME = 2.0
"""How long a download takes, in s of simulated time."""


def _map_on(vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> vehicles.VehicleMap | None:
    """Return the map that is meant; None where the vehicle does not have it."""
    given = entry.action.parameters
    wanted = given["mapId"], given["mapVersion"]
    return _chosen(vehicle.state.maps, wanted, lambda item: (item.map_id, item.version))


@_built_in("enableMap", "Use a map.", scopes=(INSTANT, NODE), versions=SINCE_2_1, parameters=_MAP)
def _enable_map(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Enable a map that is on the vehicle, and disable its other versions."""
    chosen = _map_on(vehicle, entry)
    if chosen is None:
        action.fail(entry, "there is no such map on the vehicle")
        return
    for item in vehicle.state.maps:
        if item.map_id == chosen.map_id:
            item.enabled = item is chosen
    if not vehicle.state.map_id:
        vehicle.state.map_id = chosen.map_id
    vehicle.changed = True
    action.finish(entry)


def _end_download(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, dt: float) -> None:
    if not entry.spend(dt):
        return
    given = entry.action.parameters
    wanted = given["mapId"], given["mapVersion"]
    known = _chosen(vehicle.settings.maps, wanted, lambda item: (item.id, item.version))
    if known is None or known.status != "on_server":
        action.fail(entry, "there is no such map on the server")
        return
    vehicle.state.maps.append(vehicles.VehicleMap(*wanted, False))
    vehicle.changed = True
    action.finish(entry)


@_built_in(
    "downloadMap",
    "Get a map that the scenario has on its server; the link is not opened.",
    scopes=(INSTANT,),
    versions=SINCE_2_1,
    parameters=(
        *_MAP,
        ActionParameter("mapDownloadLink", "STRING", doc="a label: it is not opened"),
        ActionParameter("mapHash", "STRING", True, "a label"),
    ),
    proceed=_end_download,
)
def _download_map(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Begin, unless the map is there already."""
    if _map_on(vehicle, entry) is not None:
        references = {key: entry.action.parameters[key] for key in ("mapId", "mapVersion")}
        vehicle.report(VehicleFault("duplicate_map", "the map is on the vehicle already", references))
        action.fail(entry, "the map is on the vehicle already")
    entry.left = DOWNLOAD_TIME


@_built_in("deleteMap", "Remove a map.", scopes=(INSTANT,), versions=SINCE_2_1, parameters=_MAP)
def _delete_map(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Remove a map from the vehicle, unless it is in use."""
    chosen = _map_on(vehicle, entry)
    if chosen is None:
        action.fail(entry, "there is no such map on the vehicle")
    elif chosen.enabled and chosen.map_id == vehicle.state.map_id:
        action.fail(entry, "the vehicle uses this map")
    else:
        vehicle.state.maps.remove(chosen)
        vehicle.changed = True
        action.finish(entry)


# initPosition, from 3.0 on initializePosition: where the vehicle is, on which map.


def _check_position(action: VehicleAction, vehicle: vehicles.Vehicle, parameters: Mapping[str, Any]) -> str:
    """Refuse poses beyond the world and unknown maps."""
    numbers = [parameters[key] for key in ("x", "y", "theta")]
    extent = vehicle.world.extent
    if not all(math.isfinite(number) and abs(number) <= extent for number in numbers):
        return f"x, y, theta: the world ends {extent:g} m from its origin"
    if not any(item.map_id == parameters["mapId"] and item.enabled for item in vehicle.state.maps):
        return f"map {parameters['mapId']!r} is not enabled here"
    return ""


def _init_position(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Put the robot at a pose on a map, or only confirm that it is there (`init_position` of its fleet)."""
    given, state = entry.action.parameters, vehicle.state
    goal = (float(given["x"]), float(given["y"]), math.remainder(float(given["theta"]), 2.0 * math.pi))
    reason = _place(action, vehicle, goal)
    if reason:
        action.fail(entry, reason)
        return
    state.map_id = given["mapId"]
    vehicle.pass_node(given.get("lastNodeId", ""), 0)
    vehicle.changed = True
    action.finish(entry)


def _place(action: VehicleAction, vehicle: vehicles.Vehicle, goal: tuple[float, float, float]) -> str:
    """Put the robot at `goal` (x, y, yaw), or compare; return why it cannot be there, "" where it is."""
    world, rows = vehicle.world, np.array([vehicle.row])
    x, y = vehicle.place
    gap = trig.hypot_of(goal[0] - x, goal[1] - y)
    turn = abs(math.remainder(goal[2] - vehicle.heading, 2.0 * math.pi))
    if gap <= 1e-6 and turn <= 1e-6:
        return ""
    if vehicle.settings.init_position is vehicles.PositionPolicy.CONFIRM:
        near = gap <= vehicle.settings.node_tolerance and turn <= max(vehicle.settings.heading_tolerance, 0.1)
        return "" if near else f"it stands {gap:.2f} m and {turn:.2f} rad away from there"
    if vehicle.moves or action.context.traffic_of(vehicle.row) is not None or world.parent[vehicle.row] >= 0:
        return "it cannot be placed elsewhere while it drives, takes part in the traffic or is carried"
    place = np.array([[goal[0], goal[1], world.position[vehicle.row, 2]]])
    world.place(rows, place, quaternions.from_yaws(np.array([goal[2]])), preserve_velocity=False)
    if not world.in_step:
        attachments.follow_rows(world, rows)
    return ""


_POSITION = (
    ActionParameter("x", "NUMBER", doc="in m"),
    ActionParameter("y", "NUMBER", doc="in m"),
    ActionParameter("theta", "NUMBER", doc="in rad"),
    ActionParameter("mapId", "STRING"),
    ActionParameter("lastNodeId", "STRING", True),
)
for _name, _versions in (("initPosition", BEFORE_3), ("initializePosition", SINCE_3)):
    _add(
        _name,
        "Set pose, map and last node.",
        _init_position,
        scopes=(INSTANT, NODE),
        versions=_versions,
        parameters=_POSITION,
        check=_check_position,
    )


# What a master control asks for: a state, a factsheet, a list without what has ended.


@_built_in("stateRequest", "Send a state.", **ANYTIME)
def _request_state(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Send a state, which itself says that the action has ended."""
    vehicle.changed = True
    action.finish(entry)


@_built_in("factsheetRequest", "Send the factsheet.", **ANYTIME)
def _request_factsheet(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    vehicle.wants_factsheet = True
    action.finish(entry)


@_built_in(
    "clearInstantActions",
    "Report ended instant actions no longer.",
    scopes=(INSTANT, NODE),
    versions=SINCE_3,
    at_once=True,
)
def _clear_instant_actions(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Remove them; this one stays until the next time."""
    vehicle.state.instants = [item for item in vehicle.state.instants if item.status not in vehicles.ENDED]
    action.finish(entry)


# wait and waitForTrigger: standing at a node for a time, or until the trigger (3.0), `vehicle.control.trigger()` in
# Python, or a cancelled order.


LONGEST_WAIT = 1e6
TRIGGER = "trigger"
"""Stage of an entry that waits for a trigger."""


def _check_wait(action: VehicleAction, vehicle: vehicles.Vehicle, parameters: Mapping[str, Any]) -> str:
    good = 0.0 <= parameters["duration"] <= LONGEST_WAIT
    return "" if good else f"parameter 'duration': expected 0 to {LONGEST_WAIT:g} s, got {parameters['duration']}"


def _end_wait(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, dt: float) -> None:
    if entry.spend(dt):
        action.finish(entry)


_DURATION = (ActionParameter("duration", "NUMBER", doc="in s of simulated time"),)


@_built_in("wait", "Wait for a time.", scopes=(NODE, EDGE), parameters=_DURATION, check=_check_wait, proceed=_end_wait)
def _wait(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    entry.left = float(entry.action.parameters["duration"])


_TRIGGER_TYPE = (ActionParameter("triggerType", "LABELS", doc="a label: any trigger ends it"),)


@_built_in("waitForTrigger", "Wait for a trigger.", parameters=_TRIGGER_TYPE)
def _wait_for_trigger(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    entry.stage = TRIGGER


# enableZoneSet and deleteZoneSet: which zones hold on a map.


_ZONE_SET = (ActionParameter("zoneSetId", "STRING"),)


def _zone_set_on(vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> VehicleZoneSet | None:
    wanted = entry.action.parameters["zoneSetId"]
    return _chosen(vehicle.state.zone_sets, wanted, lambda item: item.zone_set_id)


@_built_in(
    "enableZoneSet", "Use a zone set; between orders only.", scopes=(INSTANT,), versions=SINCE_3, parameters=_ZONE_SET
)
def _enable_zone_set(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Activate a zone set in place of the active set of its map."""
    chosen = _zone_set_on(vehicle, entry)
    if chosen is None:
        action.fail(entry, "there is no such zone set on the vehicle")
    elif not vehicle.is_idle:
        action.fail(entry, "the vehicle has an order, which it took over with the zones that hold now")
    elif action.context.traffic_of(vehicle.row) is not None:
        action.fail(entry, "the vehicle is driven by the traffic of the site, which plans its way")
    else:
        for item in vehicle.state.zone_sets:
            if item.map_id == chosen.map_id:
                item.enabled = item is chosen
        vehicle.take_back("blocked_zone")
        for zone in vehicle.zones_here():
            if zone.kind == BLOCKED:
                vehicle.report(VehicleFault("blocked_zone", "the vehicle is in this zone", {"zoneId": zone.zone_id}))
        action.finish(entry)


@_built_in("deleteZoneSet", "Remove a zone set.", scopes=(INSTANT,), versions=SINCE_3, parameters=_ZONE_SET)
def _delete_zone_set(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Remove a zone set that is not enabled."""
    chosen = _zone_set_on(vehicle, entry)
    if chosen is None:
        action.fail(entry, "there is no such zone set on the vehicle")
    elif chosen.enabled:
        action.fail(entry, "the zone set is in use")
    else:
        vehicle.state.zone_sets.remove(chosen)
        action.finish(entry)


# pick and drop: objects of the world are attached to the robot, and put down, when some time has passed. They cannot
# be canceled in between.


_LOAD = {
    "can_cancel": False,
    "parameters": (
        ActionParameter("stationType", "STRING", True, "a label"),
        ActionParameter("stationName", "STRING", True, "a label"),
        ActionParameter("loadType", "STRING", True, "a label, told with the load in states"),
        ActionParameter(
            "loadId", "STRING", True, "name of the object; without it the nearest one, or the first carried"
        ),
    ),
}


def _take_load(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, dt: float) -> None:
    """Attach the object, when the time has passed; it ends where it then is, on the robot."""
    if not entry.spend(dt):
        return
    found = _load_near(vehicle, entry.action.parameters)
    if isinstance(found, str):
        action.fail(entry, found)
    elif not vehicle.agent.attach_object(found, keep_world_pose=True):
        action.fail(entry, f"{found.name!r} cannot be taken")
    else:
        kind = entry.action.parameters.get("loadType")
        if kind is not None:
            vehicle.state.load_types[found.object_id] = kind
        action.finish(entry, found.name or "")


@_built_in("pick", "Take a load that is within reach.", proceed=_take_load, **_LOAD)
def _pick(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    entry.left = vehicle.settings.pick_time


def _load_near(vehicle: vehicles.Vehicle, parameters: Mapping[str, Any]) -> SimObject | str:
    """Return the load that is meant, or why there is none."""
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


def _put_down_load(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, dt: float) -> None:
    """Detach the object, when the time has passed, where it is."""
    if not entry.spend(dt):
        return
    wanted = entry.action.parameters.get("loadId")
    carried = [load for load in vehicle.agent.get_attached_objects() if wanted in (None, load.name)]
    if not carried:
        action.fail(entry, "it carries no load" if wanted is None else f"it does not carry load {wanted!r}")
        return
    vehicle.agent.detach_object(carried[0])
    vehicle.state.load_types.pop(carried[0].object_id, None)
    action.finish(entry, carried[0].name or "")


@_built_in("drop", "Put down a load.", proceed=_put_down_load, **_LOAD)
def _drop(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    entry.left = vehicle.settings.drop_time


# What a master control does to the order under way: cancel, pause, trigger, retry.


_ORDER_ID = (ActionParameter("orderId", "STRING", True, "from 3.0 on"),)


@_built_in("cancelOrder", "Cancel the order.", parameters=_ORDER_ID, **ANYTIME)
def _cancel_order(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Begin to cancel; FINISHED once the vehicle stands and nothing of the order runs any more."""
    state = vehicle.state
    wanted = entry.action.parameters.get("orderId", state.order_id)
    if vehicle.is_idle or wanted != state.order_id:
        reason = "there is no order to cancel" if vehicle.is_idle else f"order {wanted!r} is not the active one"
        action.fail(entry, reason)
        vehicle.report(VehicleFault("no_order", reason, {"actionId": entry.action.action_id}))
        return
    vehicle.control.cancel(entry)


def _end_pausing(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, dt: float) -> None:
    if not vehicle.state.braking:
        action.finish(entry)


@_built_in("startPause", "Pause.", proceed=_end_pausing, **ANYTIME)
def _start_pause(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """Stop the vehicle, and pause its actions."""
    vehicle.control.pause()


@_built_in("stopPause", "Go on after a pause.", **ANYTIME)
def _stop_pause(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    vehicle.control.resume()
    action.finish(entry)


@_built_in("trigger", "Tell the vehicle that what it waits for has happened.", versions=SINCE_3, **ANYTIME)
def _trigger(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry) -> None:
    """End the actions that wait for a trigger."""
    if vehicle.control.trigger():
        action.finish(entry)
    else:
        action.fail(entry, "nothing waits for a trigger")


def _retry(action: VehicleAction, vehicle: vehicles.Vehicle, entry: vehicles.ActionEntry, *, skip: bool) -> None:
    """Try an action again that failed and may be retried, or give it up."""
    wanted = entry.action.parameters["actionId"]
    if vehicle.control.retry(wanted, skip=skip):
        action.finish(entry)
    else:
        action.fail(entry, f"action {wanted!r} is not RETRIABLE")


for _name, _doc, _skip in (
    ("retry", "Try a failed action again.", False),
    ("skipRetry", "Give up a failed action.", True),
):
    _add(
        _name,
        _doc,
        partialmethod(_retry, skip=_skip),  # type: ignore[arg-type]  # one of a class
        versions=SINCE_3,
        parameters=(ActionParameter("actionId", "STRING"),),
        **ANYTIME,
    )


# The registry of actions, and what the vehicles of a fleet can do.


VEHICLE_ACTIONS: Registry[type[VehicleAction]] = Registry(
    "vda5050 action", subclasses_of(VehicleAction), group="fleet_sim.vda5050_action", built_in=_BUILT_IN
)
"""What vehicles can do, by actionType."""


class ActionOffer:
    """What the vehicles of one fleet can do: what is built in for its version, and what its settings add."""

    def __init__(self, context: vehicles.VehicleContext, version: str, own: Mapping[str, Any]) -> None:
        """Raises InvalidValueError, or UnknownNameError, for a path in `own` that leads to no VehicleAction."""
        self.actions: dict[str, VehicleAction] = {}
        for name, cls in VEHICLE_ACTIONS.all().items():
            if version in cls.versions:
                self.actions[name] = cls(context)
        for name, path in own.items():
            if not isinstance(path, str):
                raise InvalidValueError(f"actions.{name}: expected package.module:Class, got {brief(path)}")
            self.actions[name] = VEHICLE_ACTIONS.find(path)(context)

    def refusal(self, vehicle: vehicles.Vehicle, name: str, scope: str, parameters: Mapping[str, Any]) -> str:
        """Return why a vehicle cannot do the action `name` there with these parameters; "" where it can."""
        action = self.actions.get(name)
        if action is None:
            return f"action {brief(name)} is not understood"
        if scope not in action.scopes:
            return f"action {name!r} is for {', '.join(action.scopes)}, not for {scope}"
        return parameter_fault(action, parameters) or action.check(vehicle, parameters)
