"""Orders as vehicles keep them, zones, and what goes wrong, as each generation of the standard calls it.

`order_of` takes values that a shape of `wire` has checked, and raises MalformedMessage where the parts of an order do
not fit together. Optional fields that are missing are None, or the default of the standard.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.vda5050.messages import MalformedMessage
from fleet_sim.world.commands import Command, command


@saved
@dataclass
class OrderAction:
    """An action of a node, of an edge, of a zone, or an instant one. `parameters` are by key."""

    action_id: str
    action_type: str
    blocking: str = "NONE"
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    retriable: bool = False


@saved
@dataclass
class OrderNode:
    """A node. `deviation` are the half axes (m) and the angle (rad) of the ellipse in which it counts as reached.

    Positions are in m and angles in rad, on the map `map_id`. Without a position `x` is None, and `y` means nothing.
    """

    node_id: str
    sequence: int
    released: bool
    description: str = ""
    x: float | None = None
    y: float = 0.0
    theta: float | None = None
    deviation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    deviation_theta: float | None = None
    map_id: str = ""
    actions: list[OrderAction] = field(default_factory=list)


@saved
@dataclass
class EdgeTrajectory:
    """A curve by control points `points` (x, y, weight), a NURBS of `degree` with `knots`."""

    degree: int
    knots: list[float]
    points: list[tuple[float, float, float]]


@saved
@dataclass
class OrderEdge:
    """An edge. What a message does not say is None; `extras` are the other optional fields, by their names.

    `max_speed` is in m/s, and `orientation` in rad: on the map if `is_global`, else from the direction of the edge.
    `corridor` has the widths to the left and to the right in m, and whether they are for the contour of the vehicle.
    """

    edge_id: str
    sequence: int
    released: bool
    description: str = ""
    start: str | None = None
    end: str | None = None
    max_speed: float | None = None
    orientation: float | None = None
    is_global: bool = False
    trajectory: EdgeTrajectory | None = None
    corridor: tuple[float, float, bool] | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    actions: list[OrderAction] = field(default_factory=list)


@saved
@dataclass
class VehicleOrder:
    """An order, or an update of one: nodes and edges in turn, the released ones first."""

    order_id: str
    update_id: int
    zone_set: str
    nodes: list[OrderNode]
    edges: list[OrderEdge]
    digest: str = ""
    """Of the content as it was sent, to tell a repeated message from another one."""

    def actions(self) -> list[OrderAction]:
        """Return all actions in the order in which they are passed."""
        # Nodes and edges are counted by one sequence.
        parts: list[OrderNode | OrderEdge] = sorted([*self.nodes, *self.edges], key=lambda part: part.sequence)
        return [action for part in parts for action in part.actions]


# What an edge may ask for besides; `acceptance.py` refuses what a vehicle cannot do.
EXTRAS = (
    *("maxHeight", "minHeight", "direction", "rotationAllowed", "maxRotationSpeed", "length"),
    "reachOrientationBeforeEntering",
)


def action_of(values: Mapping[str, Any]) -> OrderAction:
    """Return the action in the values of a message."""
    given = values.get("actionParameters", ())
    return OrderAction(
        values.get("actionId", ""),
        values["actionType"],
        values["blockingType"],
        values.get("actionDescription", ""),
        {item["key"]: item["value"] for item in given},
        values.get("retriable", False),
    )


def order_of(values: Mapping[str, Any]) -> VehicleOrder:
    """Return the order in the values of a message; raises MalformedMessage where its parts do not fit together."""
    order = VehicleOrder(
        values["orderId"],
        values["orderUpdateId"],
        values.get("zoneSetId", ""),
        [_node(item) for item in values["nodes"]],
        [_edge(item) for item in values["edges"]],
    )
    # Of what was read, so that the order of keys in the JSON makes no difference.
    order.digest = sha256(repr((order.nodes, order.edges)).encode()).hexdigest()
    _check_chain(order)
    _check_release(order)
    # States report actions by their ids, so an id must not mean two.
    ids = [action.action_id for action in order.actions()]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise MalformedMessage("actionId", f"two actions are called {twice!r}")
    return order


def _node(values: Mapping[str, Any]) -> OrderNode:
    """Return a node of an order from its checked fields; without a position its `x` is None."""
    node = OrderNode(
        values["nodeId"],
        values["sequenceId"],
        values["released"],
        values.get("nodeDescription", ""),
        actions=[action_of(item) for item in values["actions"]],
    )
    place = values.get("nodePosition")
    if place is not None:
        node.x, node.y, node.theta, node.map_id = place["x"], place["y"], place.get("theta"), place["mapId"]
        node.deviation = _ellipse(place.get("allowedDeviationXY", 0.0))
        node.deviation_theta = place.get("allowedDeviationTheta")
    return node


def _ellipse(value: float | Mapping[str, float]) -> tuple[float, float, float]:
    # A plain number is the radius of a circle.
    if isinstance(value, Mapping):
        return value["a"], value["b"], value["theta"]
    return value, value, 0.0


def _edge(values: Mapping[str, Any]) -> OrderEdge:
    """Return an edge of an order from its checked fields: speed in m/s, orientation in rad, corridor in m."""
    corridor = values.get("corridor")
    return OrderEdge(
        values["edgeId"],
        values["sequenceId"],
        values["released"],
        values.get("edgeDescription", ""),
        values.get("startNodeId"),
        values.get("endNodeId"),
        values.get("maxSpeed"),
        values.get("orientation"),
        values.get("orientationType") == "GLOBAL",
        _trajectory(values.get("trajectory")),
        None
        if corridor is None
        else (corridor["leftWidth"], corridor["rightWidth"], corridor.get("corridorRefPoint") == "CONTOUR"),
        {name: values[name] for name in EXTRAS if name in values},
        [action_of(item) for item in values["actions"]],
    )


def _trajectory(values: Mapping[str, Any] | None) -> EdgeTrajectory | None:
    """Return the curve of an edge, a NURBS with weights; None if it has none. Missing knots are spread evenly.

    Raises MalformedMessage for a wrong number of knots, for knots that fall, and for weights that are not above 0.
    """
    if values is None:
        return None
    points = [(point["x"], point["y"], point.get("weight", 1.0)) for point in values["controlPoints"]]
    degree, knots = values.get("degree", 1), list(values.get("knotVector", ()))
    if not knots:
        # The standard's default: a line through all points.
        # Clamped: the curve begins and ends at the first and the last point.
        inner = range(1, len(points) - degree)
        share = max(len(points) - degree, 1)
        knots = [0.0] * (degree + 1) + [step / share for step in inner] + [1.0] * (degree + 1)
    if len(knots) != len(points) + degree + 1:
        raise MalformedMessage("trajectory.knotVector", f"expected {len(points) + degree + 1} knots, got {len(knots)}")
    # The curve lies between these two knots; where they are equal there is none.
    if any(one > other for one, other in itertools.pairwise(knots)) or knots[degree] >= knots[-degree - 1]:
        raise MalformedMessage("trajectory.knotVector", "the knots must rise")
    if sum(weight for _, _, weight in points) <= 0.0 or min(weight for _, _, weight in points) <= 0.0:
        raise MalformedMessage("trajectory.controlPoints", "weights must be above 0")
    return EdgeTrajectory(degree, knots, points)


def _check_chain(order: VehicleOrder) -> None:
    """Raise MalformedMessage unless nodes and edges take turns, with sequence numbers one apart and ids that fit."""
    nodes, edges = order.nodes, order.edges
    if len(edges) != len(nodes) - 1:
        raise MalformedMessage("edges", f"{len(nodes)} nodes are joined by {len(nodes) - 1} edges, got {len(edges)}")
    # An update goes on with the numbers of its order, so they need not begin at 0.
    for index, node in enumerate(nodes):
        if node.sequence != nodes[0].sequence + 2 * index:
            raise MalformedMessage(
                f"nodes[{index}].sequenceId", f"expected {nodes[0].sequence + 2 * index}, got {node.sequence}"
            )
    for index, edge in enumerate(edges):
        where = f"edges[{index}]"
        if edge.sequence != nodes[index].sequence + 1:
            raise MalformedMessage(f"{where}.sequenceId", f"expected {nodes[index].sequence + 1}, got {edge.sequence}")
        for key, given, node in (("startNodeId", edge.start, nodes[index]), ("endNodeId", edge.end, nodes[index + 1])):
            if given is not None and given != node.node_id:
                raise MalformedMessage(f"{where}.{key}", f"expected {node.node_id!r}, got {given!r}")


def _check_release(order: VehicleOrder) -> None:
    """Raise MalformedMessage unless the released part is the beginning of the order and ends with a node."""
    parts: Sequence[OrderNode | OrderEdge] = sorted([*order.nodes, *order.edges], key=lambda part: part.sequence)
    if not parts[0].released:
        raise MalformedMessage("nodes[0].released", "the first node must be released")
    for before, part in itertools.pairwise(parts):
        if part.released and not before.released:
            raise MalformedMessage("released", f"what comes after sequence {before.sequence} must not be released")
    if isinstance(last_released(parts), OrderEdge):
        raise MalformedMessage("released", "an edge is released only with the nodes at both of its ends")


def last_released(parts: Sequence[OrderNode | OrderEdge]) -> OrderNode | OrderEdge:
    """Return the last released one of `parts`."""
    return [part for part in parts if part.released][-1]


# Commands of a master control: its messages, as they came.


@command("vda5050_message")
class VehicleMessage(Command):
    """A message to the robot `name`: its `topic` (order, instantActions, zoneSet, responses) and its `text`.

    `received` is when it came, in s since 1970: leases end so long after that.
    """

    feature: ClassVar[str] = "vda5050"
    once: ClassVar[bool] = True

    name: str
    topic: str
    text: str
    received: float = 0.0


# What goes wrong for a vehicle, as each generation of the standard calls it: the errors in its states.


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
    "not_localized": FaultKind("orderError", "WARNING", "VALIDATION_FAILURE", "WARNING"),
    "no_route": FaultKind("noRouteError", "WARNING", "NO_ROUTE_TO_TARGET", "WARNING"),
    "map": FaultKind("orderError", "WARNING", "UNKNOWN_MAP_ID", "WARNING"),
    "not_automatic": FaultKind("orderError", "WARNING", "WRONG_OPERATING_MODE", "WARNING"),
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


def _own_kind(name: str) -> FaultKind:
    """Return the kind of a fault of the robot, "battery_fault:warning": its own name, and a level of version 3."""
    kind, _, level = name.partition(":")
    first, *others = kind.split("_")
    second = first + "".join(part.capitalize() for part in others)
    # Up to 2.x there are two levels; only with the highest one nothing goes on without help.
    return FaultKind(second, "FATAL" if level == "fatal" else "WARNING", kind.upper(), level.upper(), STANDING)


@saved
@dataclass
class VehicleFault:
    """A fault that a vehicle reports: its kind, what happened, and what it is about."""

    kind: str
    description: str
    references: dict[str, str] = field(default_factory=dict)

    def values(self, third: bool) -> dict[str, object]:
        """Return the error of a state."""
        kind = FAULTS[self.kind] if self.kind in FAULTS else _own_kind(self.kind)
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


# Zones of version 3.0: areas that are blocked, that limit the speed, or that need a release.


BLOCKED, RELEASE, SPEED_LIMIT = "BLOCKED", "RELEASE", "SPEED_LIMIT"
SUPPORTED = (BLOCKED, RELEASE, SPEED_LIMIT)
LONGEST_EDGE = 500.0
"""Of an edge where there are zones, in m: all of it is looked at closely."""
SPACING = 0.1
"""Between the places on a way that are looked at, in m."""
MOST_AT_ONCE = 1 << 16
"""Pairs of places and sides of zones that are looked at together."""
MOST_WORK = 2_000_000
"""The same, of all that a vehicle still has to drive: about half a second."""


@saved
@dataclass
class VehicleZone:
    """A zone by its corners (x, y) in m; `speed` (m/s) is of a speed limit, `loss` what follows a lost release."""

    zone_id: str
    kind: str
    corners: list[tuple[float, float]]
    speed: float = math.inf
    loss: str = "STOP"

    def touches(self, points: Floats, radius: float) -> Bools:
        """Return at which of `points` (N, 2) a disc of `radius` m touches the zone."""
        begins = np.array(self.corners)
        sides = np.hstack((begins, np.roll(begins, -1, axis=0)))[:, :, None]
        inside_mask, x, y = np.zeros(len(points), bool), points[:, 0], points[:, 1]
        gaps = np.full(len(points), np.inf)
        # Many sides at once, but not so many that they fill the memory.
        at_once = max(1, MOST_AT_ONCE // max(1, len(points)))
        for some in range(0, len(sides), at_once):
            x1, y1, x2, y2 = np.swapaxes(sides[some : some + at_once], 0, 1)
            dx, dy = x2 - x1, y2 - y1
            # Sides that a ray to the right crosses: an odd number of them from inside.
            slopes = np.where(dy != 0.0, dx / np.where(dy != 0.0, dy, 1.0), 0.0)
            crosses_mask = ((y1 > y) != (y2 > y)) & (x < x1 + slopes * (y - y1))
            inside_mask ^= np.logical_xor.reduce(crosses_mask, axis=0)
            share = np.clip(((x - x1) * dx + (y - y1) * dy) / np.maximum(dx * dx + dy * dy, 1e-12), 0.0, 1.0)
            gaps = np.minimum(gaps, trig.hypot(x - x1 - share * dx, y - y1 - share * dy).min(axis=0))
        touched_mask: Bools = inside_mask | (gaps <= radius)
        return touched_mask


@saved
@dataclass
class VehicleZoneSet:
    """Zones of a map that a vehicle has; one set of a map is enabled."""

    zone_set_id: str
    map_id: str
    zones: list[VehicleZone]
    enabled: bool = False


@saved
@dataclass
class ZoneRequest:
    """A request to enter a zone. `expires` is the simulated time (s) at which a grant ends."""

    request_id: str
    zone_id: str
    zone_set_id: str
    status: str = "REQUESTED"
    expires: float | None = None
    entered: bool = False


class ZonedWay(NamedTuple):
    """Points (K, 2) of a way, the speeds (K,) up to each, and the zones that begin behind place k; 0 is its begin."""

    points: Floats
    limits: Floats
    gates: dict[int, list[str]]


def zone_set_of(values: Mapping[str, Any]) -> VehicleZoneSet:
    """Return the zone set in the values of a message; raises Refused for zones that vehicles cannot keep to."""
    zones = []
    for item in values["zones"]:
        about = {"zoneId": item["zoneId"], "zoneSetId": values["zoneSetId"]}
        kind = item["zoneType"]
        if kind not in SUPPORTED:
            raise Refused("zone_set", f"zones of type {kind} are not supported, but {', '.join(SUPPORTED)}", **about)
        if kind == SPEED_LIMIT and item.get("maximumSpeed", 0.0) < 1e-3:
            raise Refused("zone_set", "a speed limit needs a maximumSpeed above 0", **about)
        if item.get("releaseLossBehavior") == "EVACUATE":
            raise Refused("zone_set", "releaseLossBehavior: STOP and CONTINUE are supported", **about)
        corners = [(vertex["x"], vertex["y"]) for vertex in item["vertices"]]
        speed = item["maximumSpeed"] if kind == SPEED_LIMIT else math.inf
        zones.append(VehicleZone(item["zoneId"], kind, corners, speed, item.get("releaseLossBehavior", "STOP")))
    return VehicleZoneSet(values["zoneSetId"], values["mapId"], zones)


def enabled_zones(sets: Sequence[VehicleZoneSet], map_id: str) -> list[VehicleZone]:
    """Return the zones that hold on a map."""
    return [zone for item in sets if item.enabled and item.map_id == map_id for zone in item.zones]


def _places(begin: tuple[float, float], points: Floats) -> list[Floats]:
    """Return the places on a way from `begin` through `points` (K, 2): the begin, and those up to each point."""
    corners = np.vstack((np.array(begin)[None], points))
    dense = [corners[:1]]
    for one, other in pairwise(corners):
        count = max(1, math.ceil(trig.hypot_of(float(other[0] - one[0]), float(other[1] - one[1])) / SPACING))
        dense.append(one + (other - one) * (np.arange(1, count + 1) / count)[:, None])
        # Not only up to the last bits.
        dense[-1][-1] = other
    return dense


def places_on(begin: tuple[float, float], points: Floats) -> Floats:
    """Return the places (N, 2), at most SPACING apart, on a way from `begin` through `points` (K, 2)."""
    return np.concatenate(_places(begin, points))


class ZoneWork:
    """How much there is to look at on ways through `zones`, told before it is looked at."""

    def __init__(self, zones: Sequence[VehicleZone], radius: float) -> None:
        corners = [np.array(zone.corners) for zone in zones]
        self._low = np.array([part.min(axis=0) for part in corners]) - radius
        self._high = np.array([part.max(axis=0) for part in corners]) + radius
        self._sides = np.array([len(part) for part in corners])

    def on(self, length: float, corners: Floats) -> float:
        """Return how many pairs of places and sides there are on a way of `length` m inside of `corners` (K, 2)."""
        near_mask = ((self._low <= corners.max(axis=0)) & (self._high >= corners.min(axis=0))).all(axis=1)
        return (length / SPACING + len(corners)) * float(self._sides[near_mask].sum())


def zoned(begin: tuple[float, float], points: Floats, zones: Sequence[VehicleZone], radius: float) -> ZonedWay:
    """Return the way from `begin` through `points` (K, 2), with more points where zones begin and end."""
    if not zones:
        return ZonedWay(points, np.full(len(points), np.inf), {})
    dense = _places(begin, points)
    places = np.concatenate(dense)
    # The corners stay exactly where they are; all other places are kept where something changes only.
    kept_mask = np.zeros(len(places), bool)
    kept_mask[np.cumsum([len(part) for part in dense]) - 1] = True
    low, high = places.min(axis=0) - radius, places.max(axis=0) + radius
    limits, gates = np.full(len(places), np.inf), dict[int, list[str]]()
    for zone in zones:
        box = np.array(zone.corners)
        if (box.max(axis=0) < low).any() or (box.min(axis=0) > high).any():
            # Most zones are far from a way; to see that is quick.
            continue
        touched_mask = zone.touches(places, radius)
        changes = np.flatnonzero(touched_mask[1:] != touched_mask[:-1])
        # The last place before a zone, and the first one after it.
        kept_mask[np.where(touched_mask[changes], changes + 1, changes)] = True
        if zone.kind == SPEED_LIMIT:
            # A line is limited where one of its ends is inside.
            inside_mask = touched_mask | np.append(False, touched_mask[:-1])
            limits = np.where(inside_mask, np.minimum(limits, zone.speed), limits)
        elif zone.kind == RELEASE:
            entries = [0] if touched_mask[0] else []
            for entry in [*entries, *(changes[~touched_mask[changes]]).tolist()]:
                gates.setdefault(int(entry), []).append(zone.zone_id)
    kept = np.flatnonzero(kept_mask)
    kept = kept[kept > 0]
    numbers = {0: 0} | {int(place): index + 1 for index, place in enumerate(kept.tolist())}
    # Between two kept places the limit is that of the second one.
    return ZonedWay(places[kept], limits[kept], {numbers[place]: names for place, names in gates.items()})
