"""Orders as vehicles keep them: nodes, edges and actions, read from a checked message of any version.

`order_of` takes values that a shape of `wire` has checked, and raises MalformedMessage where the parts of an order do
not fit together. Optional fields that are missing are None, or the default of the standard.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from fleet_sim.saved_classes import saved
from fleet_sim.vda5050.wire.shapes import MalformedMessage


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
