"""Acceptance: whether a vehicle takes over an order or an update, as the standard's chart of that decision says.

Checks come in the order of that chart: the ids, places, fields and actions, and the route at last. What is refused is
raised as Refused, with the references that the error in the state has; the vehicle goes on as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.warehouse.vda5050.actions import EDGE, NODE, ActionOffer
from fleet_sim.warehouse.vda5050.driving import curve_points, drives_sideways, edge_way, is_at, turned
from fleet_sim.warehouse.vda5050.messages import MOST_NODES, MOST_STATES
from fleet_sim.warehouse.vda5050.order import (
    BLOCKED,
    LONGEST_EDGE,
    MOST_WORK,
    OrderEdge,
    OrderNode,
    Refused,
    VehicleOrder,
    ZoneWork,
    enabled_zones,
    places_on,
)
from fleet_sim.warehouse.vda5050.vehicle import ENDED, Vehicle, VehicleContext


class OrderAcceptance:
    """Checks the orders for one vehicle. It changes no vehicle."""

    def __init__(self, vehicle: Vehicle, context: VehicleContext, offer: ActionOffer) -> None:
        self._vehicle, self._context, self._offer = vehicle, context, offer

    def check(self, order: VehicleOrder) -> bool:
        """Return whether to take over `order`; False for one that came before. Raises Refused."""
        state = self._vehicle.state
        about = {"orderId": order.order_id, "orderUpdateId": order.update_id}
        # Before the first order there is nothing to update, whatever its id is.
        is_update = order.order_id == state.order_id and state.latest != ""
        if is_update:
            if not self._continues(order, about):
                return False
        elif not self._vehicle.is_idle or state.cancelling:
            raise Refused("other_order", f"order {state.order_id!r} is active", **about)
        elif self._vehicle.version.is_third and order.update_id != 0:
            raise Refused("malformed", "a new order begins with orderUpdateId 0", **about)
        quality = self._vehicle.pose_quality
        if quality is not None and not quality.localized:
            raise Refused("not_localized", "the vehicle does not know where it is", **about)
        if not self._vehicle.takes_orders:
            raise Refused("not_automatic", "a person drives the vehicle: it takes no orders", **about)
        self._place_nodes(order, about)
        self._check_fields(order, about)
        self._check_actions(order, about)
        # Checked after the actions: refusing those needs no vehicle at its place.
        if not is_update and not is_at(self._vehicle, order.nodes[0]):
            raise Refused("start", f"the vehicle is not at node {order.nodes[0].node_id!r}", **about)
        self._check_route(order, about)
        return True

    def _continues(self, order: VehicleOrder, about: dict[str, object]) -> bool:
        """Check the ids of an update; return False for one that the vehicle has already."""
        state = self._vehicle.state
        if order.update_id < state.update_id:
            raise Refused("outdated", f"update {state.update_id} came before", **about)
        if order.update_id == state.update_id:
            # Only from 3.0 on it matters whether the repeated one is the same.
            if self._vehicle.version.is_third and order.digest != state.latest:
                raise Refused("same_update", f"update {order.update_id} came before, with another content", **about)
            return False
        if state.cancelled or state.cancelling:
            raise Refused("cancelled", f"order {order.order_id!r} was cancelled", **about)
        first, decision = order.nodes[0], state.decision
        if decision is None or (first.node_id, first.sequence) != (decision.node_id, decision.sequence):
            expected = "nowhere" if decision is None else f"at node {decision.node_id!r}, sequence {decision.sequence}"
            got = f"{first.node_id!r}, {first.sequence}"
            raise Refused("gap", f"an update of this order continues {expected}, got {got}", **about)
        self._check_length(order, about)
        return True

    def _check_length(self, order: VehicleOrder, about: dict[str, object]) -> None:
        """Check that a vehicle keeps no more of an order that goes on and on than one message may have."""
        # What is not released does not count: an update replaces it.
        state = self._vehicle.state
        ahead = sum(node.released for node in state.nodes) + len(order.nodes) - 1
        left = sum(entry.status not in ENDED for entry in state.actions) + len(order.actions())
        for what, count, most in (("nodes", ahead, MOST_NODES), ("actions", left, MOST_STATES)):
            if count > most:
                reason = f"with this update {count} {what} would be ahead of the vehicle, at most {most} are kept"
                raise Refused("unsupported", reason, **about, field=what)

    # ---- places ------------------------------------------------------------------------------------------------------

    def _place_nodes(self, order: VehicleOrder, about: dict[str, object]) -> None:
        """Find the places of nodes without a position, which are stations of the site; check all of them."""
        state, extent = self._vehicle.state, self._vehicle.world.extent
        enabled = {item.map_id for item in state.maps if item.enabled}
        for node in order.nodes:
            if node.x is None:
                place = self._context.station(node.node_id)
                if place is None:
                    reason = f"node {node.node_id!r} has no nodePosition, and no station of the site has its name"
                    raise Refused("no_route", reason, **about, nodeId=node.node_id)
                (node.x, node.y), node.map_id = place, state.map_id
            if node.map_id not in enabled:
                raise Refused("map", f"map {node.map_id!r} is not enabled", **about, mapId=node.map_id)
            if node.map_id != state.map_id:
                reason = f"node {node.node_id!r} is on map {node.map_id!r}, the vehicle on {state.map_id!r}"
                raise Refused("no_route", f"{reason}; initPosition changes it", **about, nodeId=node.node_id)
            if max(abs(node.x), abs(node.y)) > extent:
                reason = f"node {node.node_id!r}: the world ends {extent:g} m from its origin"
                raise Refused("no_route", reason, **about, nodeId=node.node_id)

    def _check_route(self, order: VehicleOrder, about: dict[str, object]) -> None:
        """Check that the traffic, or the curves given, lead to the nodes."""
        traffic = self._context.traffic_of(self._vehicle.row)
        for node in order.nodes[1:] if traffic is not None else ():
            try:
                assert traffic is not None
                traffic.node_of(traffic.beside(self._vehicle.row, node.x or 0.0, node.y))
            except FleetSimError as error:
                raise Refused("no_route", f"node {node.node_id!r}: {error}", **about, nodeId=node.node_id) from error
        for edge, begin, end in zip(order.edges, order.nodes, order.nodes[1:], strict=False):
            if edge.trajectory is not None:
                self._check_curve(edge, begin, end, about)
        self._check_zones(order, about)

    def _check_curve(self, edge: OrderEdge, begin: OrderNode, end: OrderNode, about: dict[str, object]) -> None:
        # Coarse points are enough for the two ends.
        curve = curve_points(edge.trajectory, 0.1) if edge.trajectory is not None else None
        assert curve is not None
        for point, node in ((curve[0], begin), (curve[-1], end)):
            gap = trig.hypot_of(point[0] - (node.x or 0.0), point[1] - node.y)
            if gap > max(node.deviation[:2]) + self._vehicle.settings.node_tolerance:
                reason = f"the trajectory of edge {edge.edge_id!r} passes node {node.node_id!r} {gap:.2f} m away"
                raise Refused("no_route", reason, **about, edgeId=edge.edge_id)

    # ---- zones -------------------------------------------------------------------------------------------------------

    def _check_zones(self, order: VehicleOrder, about: dict[str, object]) -> None:
        """Check that no edge leads through a blocked zone, after a look at how long that takes."""
        vehicle, state = self._vehicle, self._vehicle.state
        zones = enabled_zones(state.zone_sets, state.map_id)
        if not zones:
            return
        radius = footprint_radius(vehicle.world, vehicle.row)
        work = ZoneWork(zones, radius)
        # What is left of the order is looked at again with each leg.
        total = sum(work.on(*_extent_of(edge, begin, end)) for edge, begin, end in self._ways_left(order))
        for edge, begin, end in zip(order.edges, order.nodes, order.nodes[1:], strict=False):
            length, corners = _extent_of(edge, begin, end)
            if length > LONGEST_EDGE:
                reason = f"edge {edge.edge_id!r}: with zones, edges are at most {LONGEST_EDGE:g} m long"
                raise Refused("no_route", reason, **about, edgeId=edge.edge_id)
            total += work.on(length, corners)
        if total > MOST_WORK:
            reason = (
                f"too long a way near zones with too many corners: {total:.3g} comparisons, at most {MOST_WORK:.3g}"
            )
            raise Refused("no_route", reason, **about)
        for edge, begin, end in zip(order.edges, order.nodes, order.nodes[1:], strict=False):
            start = (begin.x or 0.0, begin.y)
            places = places_on(start, edge_way(vehicle, edge, start, end).points)
            for zone in zones:
                if zone.kind == BLOCKED and zone.touches(places, radius).any():
                    reason = f"edge {edge.edge_id!r} leads through the blocked zone {zone.zone_id!r}"
                    raise Refused("no_route", reason, **about, zoneId=zone.zone_id)

    def _ways_left(self, order: VehicleOrder) -> Iterator[tuple[OrderEdge, OrderNode, OrderNode]]:
        """Yield the released edges that `order` continues, with the nodes at their ends."""
        state = self._vehicle.state
        if order.order_id != state.order_id:
            return
        nodes, edges = ([part for part in parts if part.released] for parts in (state.nodes, state.edges))
        if len(nodes) == len(edges):
            # It is on the first edge: about as long as from here.
            x, y = self._vehicle.place
            nodes = [OrderNode("", -1, True, x=x, y=y), *nodes]
        yield from zip(edges, nodes, nodes[1:], strict=False)

    # ---- fields and actions that it cannot use -----------------------------------------------------------------------

    def _check_fields(self, order: VehicleOrder, about: dict[str, object]) -> None:
        if order.zone_set:
            raise Refused("unsupported", "zoneSetId: the vehicle has no zones", **about, field="zoneSetId")
        for edge, begin, end in zip(order.edges, order.nodes, order.nodes[1:], strict=False):
            name, reason = self._unusable(edge, begin, end)
            if name:
                raise Refused("unsupported", f"edge {edge.edge_id!r}: {name}: {reason}", **about, field=name)

    def _unusable(self, edge: OrderEdge, begin: OrderNode, end: OrderNode) -> tuple[str, str]:
        """Return a field of an edge that the vehicle cannot use, and why; ("", "") where there is none."""
        extras, vehicle = edge.extras, self._vehicle
        if edge.max_speed is not None and edge.max_speed < 1e-3:
            return "maxSpeed", "at this speed the vehicle does not arrive"
        if "direction" in extras:
            return "direction", "the vehicle follows no wire; nodes say where it drives"
        if extras.get("minHeight", 0.0) > 0.0:
            return "minHeight", "the vehicle has no load handling device that it could raise"
        if "maxHeight" in extras and vehicle.top > extras["maxHeight"]:
            return "maxHeight", f"the vehicle with its load is {vehicle.top:.2f} m high"
        fastest = float(vehicle.world.motion.angular_limit[vehicle.row])
        if extras.get("maxRotationSpeed", math.inf) < fastest:
            return "maxRotationSpeed", f"the vehicle turns at {fastest:g} rad/s"
        if self._context.traffic_of(vehicle.row) is not None:
            return self._unusable_in_traffic(edge)
        return self._unusable_orientation(edge, begin, end)

    def _unusable_in_traffic(self, edge: OrderEdge) -> tuple[str, str]:
        """Return which field of an edge is refused where the traffic drives, and why; both empty if all can be used."""
        for name, value in (
            ("maxSpeed", edge.max_speed),
            ("orientation", edge.orientation),
            ("trajectory", edge.trajectory),
            ("corridor", edge.corridor),
        ):
            if value is not None:
                return name, "the vehicle is driven by the traffic of the site, which plans its way and speed"
        return "", ""

    def _unusable_orientation(self, edge: OrderEdge, begin: OrderNode, end: OrderNode) -> tuple[str, str]:
        """Return the field and the reason if a vehicle cannot hold the orientation of an edge; both empty if it can.

        A vehicle that drives sideways holds any heading on a straight edge; others look along it, or back.
        """
        if edge.orientation is None:
            return "", ""
        straight = edge.trajectory is None or (edge.trajectory.degree == 1 and len(edge.trajectory.points) == 2)
        if drives_sideways(self._vehicle):
            # One heading is held on an edge.
            good = straight or edge.is_global
            return ("", "") if good else ("orientation", "on a curve the vehicle holds only a GLOBAL one")
        way = trig.atan2_of(end.y - begin.y, (end.x or 0.0) - (begin.x or 0.0))
        off = abs(turned(edge.orientation - (way if edge.is_global else 0.0)))
        if edge.is_global and not straight:
            return "orientation", "on a curve the heading follows the curve"
        if min(off, math.pi - off) > self._vehicle.settings.heading_tolerance:
            return "orientation", "the vehicle drives forwards (0) or backwards (pi) only"
        return "", ""

    def _check_actions(self, order: VehicleOrder, about: dict[str, object]) -> None:
        """Raise Refused for an action that the vehicle does not offer there, or whose id an earlier one still has."""
        for scope, parts in ((NODE, order.nodes), (EDGE, order.edges)):
            for part in parts:
                for action in part.actions:
                    reason = self._offer.refusal(self._vehicle, action.action_type, scope, action.parameters)
                    if reason:
                        raise Refused("action", reason, **about, actionId=action.action_id)
        state = self._vehicle.state
        # States tell actions by id, so each is used once as long as it is told.
        known = {entry.action.action_id for entry in state.instants}
        if order.order_id == state.order_id:
            first = order.nodes[0].sequence
            known |= {entry.action.action_id for entry in state.actions if entry.sequence <= first}
            known -= {action.action_id for action in order.nodes[0].actions}
        for action in order.actions():
            if action.action_id in known:
                raise Refused(
                    "malformed", f"action id {action.action_id!r} is in use", **about, actionId=action.action_id
                )


def _extent_of(edge: OrderEdge, begin: OrderNode, end: OrderNode) -> tuple[float, Floats]:
    """Return how long an edge is at most, in m, and points (K, 2) that it is between: curves are between theirs."""
    inner = [] if edge.trajectory is None else [point[:2] for point in edge.trajectory.points]
    corners = np.array([(begin.x or 0.0, begin.y), *inner, (end.x or 0.0, end.y)])
    return float(sum(trig.hypot_of(*(other - one).tolist()) for one, other in pairwise(corners))), corners
