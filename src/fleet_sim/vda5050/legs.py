"""Legs: how much of an order a vehicle can drive without a stop, and along which points.

A leg ends where an action needs a vehicle at rest, where the vehicle has to turn at a node, before a zone without a
release, and at the end of what is released.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.config.modes import MotionMode
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.vda5050.nurbs import curve_points
from fleet_sim.vda5050.order import OrderEdge, OrderNode
from fleet_sim.vda5050.vehicle import Vehicle, VehicleLeg
from fleet_sim.vda5050.zones import ZonedWay, enabled_zones, zoned

SMOOTH, COARSE = 0.005, 0.05
"""How far lines may be off a curve, in m: for robots that drive round corners, and for those that stop at them."""
BLOCKING = ("SOFT", "HARD")


def turned(angle: float) -> float:
    """Return an angle in rad between -pi and pi."""
    return math.remainder(angle, 2.0 * math.pi)


def drives_sideways(vehicle: Vehicle) -> bool:
    """Return whether a vehicle can hold its heading while it drives in another direction."""
    return vehicle.agent.motion_mode == MotionMode.OMNIDIRECTIONAL


def edge_way(vehicle: Vehicle, edge: OrderEdge, begin: tuple[float, float], node: OrderNode) -> ZonedWay:
    """Return the points of an edge that begins at `begin`, up to its node, with what zones say of them."""
    state = vehicle.state
    zones = enabled_zones(state.zone_sets, state.map_id)
    radius = footprint_radius(vehicle.world, vehicle.row) if zones else 0.0
    return zoned(begin, _edge_points(vehicle, edge, node), zones, radius)


def _edge_points(vehicle: Vehicle, edge: OrderEdge, node: OrderNode) -> Floats:
    """Return the points (K, 2) of an edge after its beginning, up to its node."""
    end = (node.x or 0.0, node.y)
    if edge.trajectory is None:
        return np.array([end])
    curve = curve_points(edge.trajectory, SMOOTH if drives_sideways(vehicle) else COARSE)
    curve[-1] = end
    return curve[1:]


def held_heading(vehicle: Vehicle, edge: OrderEdge, way: float) -> float | None:
    """Return the heading (rad) that a vehicle holds on an edge that leads to `way` rad; None: any."""
    if edge.orientation is None or not drives_sideways(vehicle):
        return None
    return turned(edge.orientation + (0.0 if edge.is_global else way))


def reverses(vehicle: Vehicle, edge: OrderEdge, way: float) -> bool | None:
    """Return whether a vehicle drives an edge backwards; None: as it likes."""
    if edge.orientation is None or drives_sideways(vehicle):
        return None
    off = turned(edge.orientation - (way if edge.is_global else 0.0))
    # It drives ahead or back: what is nearer to the orientation that the edge wants.
    return abs(off) > 0.5 * math.pi


def is_aligned(vehicle: Vehicle, node: OrderNode, heading: float) -> bool:
    """Return whether `heading` is one that a node wants."""
    allowed = vehicle.settings.heading_tolerance if node.deviation_theta is None else abs(node.deviation_theta)
    return node.theta is None or abs(turned(heading - node.theta)) <= max(allowed, 1e-6)


def is_at(vehicle: Vehicle, node: OrderNode) -> bool:
    """Return whether a vehicle is within the deviation of a node."""
    x, y = vehicle.place
    dx, dy = x - (node.x or 0.0), y - node.y
    least = vehicle.settings.node_tolerance
    a, b, angle = node.deviation
    # Without an ellipse the tolerance of the vehicle counts, and within that any node is reached.
    if dx * dx + dy * dy <= least * least or not (a > 0.0 and b > 0.0):
        return dx * dx + dy * dy <= least * least
    sine, cosine = trig.sin_cos_of(angle)
    along, across = dx * cosine + dy * sine, dy * cosine - dx * sine
    return (along / a) ** 2 + (across / b) ** 2 <= 1.0


class LegBuilder:
    """Puts edges together until the vehicle has to stop: for an action, a turn, or the end of its base."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._state = vehicle.state
        self._points: list[tuple[float, float, float]] = []
        self._marks: list[tuple[int, int]] = []
        self._reverse: bool | None = None
        self._held: float | None = None
        self.gates: list[str] = []
        """Zones at which the leg ends, as there is no release for them."""
        self._rest_of: tuple[int, int] = (-1, 0)
        self._at = vehicle.place
        self._from = vehicle.state.last_place or vehicle.place
        """Where the edge begins: directions are those of edges, not of a vehicle beside one."""

    def build(self) -> VehicleLeg | None:
        """Return the next leg; None where nothing is released that is not driven yet."""
        state = self._state
        if len(state.nodes) > len(state.edges):
            # The first node of an order, on which the vehicle stands: only its heading is missing.
            node = state.nodes[0]
            return VehicleLeg([(*self._at, math.inf)], [(0, node.sequence)], [("turn", node.theta)])
        last: OrderNode | None = None
        heading = self._vehicle.heading
        for edge, node in zip(state.edges, state.nodes, strict=True):
            way, skipped = self._rest(edge, node)
            if not edge.released or not self._joins(edge, way.points):
                break
            heading, whole = self._append(edge, way, heading, skipped)
            if not whole:
                return self._cut()
            self._marks.append((len(self._points) - 1, node.sequence))
            last = node
            if self._stops_at(node, heading):
                break
        return (
            None if last is None else VehicleLeg(self._points, self._marks, self._phases(last, heading), self._reverse)
        )

    def _cut(self) -> VehicleLeg | None:
        """Return the leg up to a zone that needs a release; None where it begins there."""
        if not self._points:
            return None
        return VehicleLeg(self._points, self._marks, [("drive", self._held)], self._reverse, rest=self._rest_of)

    def _rest(self, edge: OrderEdge, node: OrderNode) -> tuple[ZonedWay, int]:
        """Return what is still ahead of an edge, and how many of its points are not."""
        way = edge_way(self._vehicle, edge, self._from, node)
        given_up, index = self._state.resume
        if given_up != edge.sequence:
            return way, 0
        # Zones may have changed since, and with them the number of points.
        index = min(index, len(way.points) - 1)
        gates = {place - index: names for place, names in way.gates.items() if place >= index}
        return ZonedWay(way.points[index:], way.limits[index:], gates), index

    def _way(self, points: Floats) -> float:
        """Return the direction in rad of the edge that leads through `points`."""
        x, y = points[0, 0] - self._from[0], points[0, 1] - self._from[1]
        return trig.atan2_of(y, x) if trig.hypot_of(x, y) > 1e-9 else self._vehicle.heading

    def _joins(self, edge: OrderEdge, points: Floats) -> bool:
        """Return whether an edge can be driven together with those before."""
        way = self._way(points)
        reverse, held = reverses(self._vehicle, edge, way), held_heading(self._vehicle, edge, way)
        if not self._points:
            self._reverse, self._held = reverse, held
            return True
        # Such actions need a vehicle at rest, and so does a change of direction.
        if any(action.blocking in BLOCKING for action in edge.actions) or reverse != self._reverse:
            return False
        return (held is None) == (self._held is None) and (
            held is None or abs(turned(held - (self._held or 0.0))) < 1e-6
        )

    def _append(self, edge: OrderEdge, way: ZonedWay, heading: float, skipped: int) -> tuple[float, bool]:
        """Add the points of an edge; return the heading with which the vehicle arrives, and whether it may."""
        limit = math.inf if edge.max_speed is None else edge.max_speed
        granted = {request.zone_id for request in self._state.requests if request.status == "GRANTED"}
        for place, ((x, y), low) in enumerate(zip(way.points.tolist(), way.limits.tolist(), strict=True)):
            self.gates = [zone for zone in way.gates.get(place, ()) if zone not in granted]
            if self.gates:
                self._rest_of = (edge.sequence, skipped + place)
                return heading, False
            # A point where the vehicle is gives no direction.
            if trig.hypot_of(x - self._at[0], y - self._at[1]) > 1e-9 and not drives_sideways(self._vehicle):
                heading = trig.atan2_of(y - self._at[1], x - self._at[0]) + (math.pi if self._reverse else 0.0)
            self._points.append((x, y, min(limit, low)))
            self._at = (x, y)
        self._from = self._at
        return (heading if self._held is None else self._held), True

    def _stops_at(self, node: OrderNode, heading: float) -> bool:
        blocked = any(action.blocking in BLOCKING for action in node.actions)
        return blocked or not is_aligned(self._vehicle, node, heading)

    def _phases(self, node: OrderNode, heading: float) -> list[tuple[str, float | None]]:
        """Return what is to be done in turn: turn, drive, turn."""
        theta = None if is_aligned(self._vehicle, node, heading) else node.theta
        if self._held is None:
            return [("drive", theta)]
        phases: list[tuple[str, float | None]] = [("drive", self._held)]
        if abs(turned(self._held - self._vehicle.heading)) > 1e-6:
            phases.insert(0, ("turn", self._held))
        return phases if theta is None else [*phases, ("turn", theta)]
