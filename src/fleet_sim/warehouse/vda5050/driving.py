"""VehicleDriver: drives the base of an order, leg by leg; by itself, or by the traffic of the site.

Alone, a vehicle drives a leg as one path, whose waypoints tell which nodes it has passed. In a traffic it is sent from
node to node, and the traffic plans its way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.params import MotionMode, MovementDirection
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.warehouse.vda5050 import order
from fleet_sim.warehouse.vda5050.vehicle import NOWHERE, Vehicle, VehicleContext, VehicleLeg
from fleet_sim.world.steering import IDLE, POSE

# Points on the curves of trajectories: NURBS, evaluated at many places at once.


FINEST = 512
"""Points of a curve, at most."""


def curve_points(curve: order.EdgeTrajectory, tolerance: float) -> Floats:
    """Return points (K, 2) on the curve, ends included, so dense that no line between two is off by `tolerance` m."""
    if curve.degree == 1:
        # Straight lines between the control points, whatever the weights.
        return np.array([point[:2] for point in curve.points])
    count = 16
    while True:
        points = _evaluated(curve, np.linspace(curve.knots[curve.degree], curve.knots[-curve.degree - 1], count + 1))
        # Each second point against the line between its neighbours: four times as far off as the finer lines are.
        middle = 0.5 * (points[:-2:2] + points[2::2])
        gaps = np.sqrt(((points[1::2] - middle) ** 2).sum(axis=1))
        if gaps.max(initial=0.0) <= tolerance or count >= FINEST:
            return points
        count *= 2


def _evaluated(curve: order.EdgeTrajectory, places: Floats) -> Floats:
    """Return the points (N, 2) at `places` (N,), by de Boor's scheme in homogeneous coordinates."""
    degree, knots = curve.degree, np.array(curve.knots)
    given = np.array(curve.points)
    weighted = np.column_stack((given[:, :2] * given[:, 2:], given[:, 2]))
    # The knot span of each place; the last place belongs to the last span that is not empty.
    last = len(weighted) - 1
    span = np.clip(np.searchsorted(knots, places, side="right") - 1, degree, last)
    level = [weighted[span - degree + index] for index in range(degree + 1)]
    for step in range(1, degree + 1):
        for index in range(degree, step - 1, -1):
            low = knots[span - degree + index]
            width = knots[span + 1 + index - step] - low
            share = np.where(width > 0.0, (places - low) / np.where(width > 0.0, width, 1.0), 0.0)[:, None]
            level[index] = (1.0 - share) * level[index - 1] + share * level[index]
    points: Floats = level[degree][:, :2] / level[degree][:, 2:]
    return points


# Legs: how much of an order a vehicle can drive without a stop, and along which points. A leg ends where an action
# needs a vehicle at rest, where the vehicle has to turn at a node, before a zone without a release, and at the end of
# what is released.


SMOOTH, COARSE = 0.005, 0.05
"""How far lines may be off a curve, in m: for robots that drive round corners, and for those that stop at them."""
BLOCKING = ("SOFT", "HARD")


def turned(angle: float) -> float:
    """Return an angle in rad between -pi and pi."""
    return math.remainder(angle, 2.0 * math.pi)


def drives_sideways(vehicle: Vehicle) -> bool:
    """Return whether a vehicle can hold its heading while it drives in another direction."""
    return vehicle.agent.motion_mode == MotionMode.OMNIDIRECTIONAL


def edge_way(
    vehicle: Vehicle, edge: order.OrderEdge, begin: tuple[float, float], node: order.OrderNode
) -> order.ZonedWay:
    """Return the points of an edge that begins at `begin`, up to its node, with what zones say of them."""
    state = vehicle.state
    zones = order.enabled_zones(state.zone_sets, state.map_id)
    radius = footprint_radius(vehicle.world, vehicle.row) if zones else 0.0
    return order.zoned(begin, _edge_points(vehicle, edge, node), zones, radius)


def _edge_points(vehicle: Vehicle, edge: order.OrderEdge, node: order.OrderNode) -> Floats:
    """Return the points (K, 2) of an edge after its beginning, up to its node."""
    end = (node.x or 0.0, node.y)
    if edge.trajectory is None:
        return np.array([end])
    curve = curve_points(edge.trajectory, SMOOTH if drives_sideways(vehicle) else COARSE)
    curve[-1] = end
    return curve[1:]


def held_heading(vehicle: Vehicle, edge: order.OrderEdge, way: float) -> float | None:
    """Return the heading (rad) that a vehicle holds on an edge that leads to `way` rad; None: any."""
    if edge.orientation is None or not drives_sideways(vehicle):
        return None
    return turned(edge.orientation + (0.0 if edge.is_global else way))


def reverses(vehicle: Vehicle, edge: order.OrderEdge, way: float) -> bool | None:
    """Return whether a vehicle drives an edge backwards; None: as it likes."""
    if edge.orientation is None or drives_sideways(vehicle):
        return None
    off = turned(edge.orientation - (way if edge.is_global else 0.0))
    # It drives ahead or back: what is nearer to the orientation that the edge wants.
    return abs(off) > 0.5 * math.pi


def is_aligned(vehicle: Vehicle, node: order.OrderNode, heading: float) -> bool:
    """Return whether `heading` is one that a node wants."""
    allowed = vehicle.settings.heading_tolerance if node.deviation_theta is None else abs(node.deviation_theta)
    return node.theta is None or abs(turned(heading - node.theta)) <= max(allowed, 1e-6)


def is_at(vehicle: Vehicle, node: order.OrderNode) -> bool:
    """Return whether a vehicle is within the deviation of a node."""
    x, y = vehicle.place
    dx, dy = x - (node.x or 0.0), y - node.y
    # Within the tolerance of the vehicle any node is reached, whatever ellipse it has.
    is_near = dx * dx + dy * dy <= vehicle.settings.node_tolerance**2
    a, b, angle = node.deviation
    if is_near or not (a > 0.0 and b > 0.0):
        return is_near
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
        last: order.OrderNode | None = None
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

    def _rest(self, edge: order.OrderEdge, node: order.OrderNode) -> tuple[order.ZonedWay, int]:
        """Return what is still ahead of an edge, and how many of its points are not."""
        way = edge_way(self._vehicle, edge, self._from, node)
        given_up, index = self._state.resume
        if given_up != edge.sequence:
            return way, 0
        # Zones may have changed since, and with them the number of points.
        index = min(index, len(way.points) - 1)
        gates = {place - index: names for place, names in way.gates.items() if place >= index}
        return order.ZonedWay(way.points[index:], way.limits[index:], gates), index

    def _way(self, points: Floats) -> float:
        """Return the direction in rad of the edge that leads through `points`."""
        x, y = points[0, 0] - self._from[0], points[0, 1] - self._from[1]
        return trig.atan2_of(y, x) if trig.hypot_of(x, y) > 1e-9 else self._vehicle.heading

    def _joins(self, edge: order.OrderEdge, points: Floats) -> bool:
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

    def _append(self, edge: order.OrderEdge, way: order.ZonedWay, heading: float, skipped: int) -> tuple[float, bool]:
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

    def _stops_at(self, node: order.OrderNode, heading: float) -> bool:
        blocked = any(action.blocking in BLOCKING for action in node.actions)
        return blocked or not is_aligned(self._vehicle, node, heading)

    def _phases(self, node: order.OrderNode, heading: float) -> list[tuple[str, float | None]]:
        """Return what is to be done in turn: turn, drive, turn."""
        theta = None if is_aligned(self._vehicle, node, heading) else node.theta
        if self._held is None:
            return [("drive", theta)]
        phases: list[tuple[str, float | None]] = [("drive", self._held)]
        if abs(turned(self._held - self._vehicle.heading)) > 1e-6:
            phases.insert(0, ("turn", self._held))
        return phases if theta is None else [*phases, ("turn", theta)]


OTHERS = "it follows a command that is not of its order"


class VehicleDriver:
    """Drives one vehicle. `reach(sequence)` is called for each node when it is passed, in order.

    `ask_for(zones)` is called with the zones for which it needs a release.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        context: VehicleContext,
        reach: Callable[[int], object],
        ask_for: Callable[[list[str]], object],
    ) -> None:
        self._vehicle, self._context, self._reach, self.ask_for = vehicle, context, reach, ask_for
        self._world = vehicle.world
        self._rows = np.array([vehicle.row])

    # ---- looking -----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """See how far the vehicle has come on its leg."""
        state, row, motion = self._vehicle.state, self._vehicle.row, self._world.motion
        leg = state.leg
        if leg is None or state.braking:
            return
        traffic = self._context.traffic_of(row)
        if leg.node >= 0 or traffic is not None:
            self._look_in_traffic(leg, traffic)
        elif motion.reached[row]:
            self._end_phase(leg)
        elif motion.control[row] != POSE or motion.path_length[row] != self._count(leg):
            # Somebody else gave it a command, or a rule stopped it: the order goes on as soon as it may.
            self.give_up()
        elif leg.phases[0][0] == "drive":
            at = int(motion.waypoint[row])
            # Waypoints before the current one are passed.
            while leg.marks and leg.marks[0][0] < at:
                index, sequence = leg.marks.pop(0)
                leg.begin = index + 1
                self._reach(sequence)

    def _look_in_traffic(self, leg: VehicleLeg, traffic: Traffic | None) -> None:
        agent = self._vehicle.agent
        if traffic is None or leg.node < 0 or traffic.goal_of(agent) != leg.node:
            self.give_up()
        elif traffic.has_arrived(agent):
            self._complete(leg)

    def _count(self, leg: VehicleLeg) -> int:
        return 1 if leg.phases[0][0] == "turn" else len(leg.points)

    def _end_phase(self, leg: VehicleLeg) -> None:
        """End the first phase of a leg, begin the next one, or complete it; a drive has reached its nodes."""
        kind, _ = leg.phases.pop(0)
        if kind == "drive":
            # A node at which it still turns counts as reached after the turn.
            while len(leg.marks) > 1:
                index, sequence = leg.marks.pop(0)
                leg.begin = index + 1
                self._reach(sequence)
        if leg.phases:
            self._begin_phase(leg)
        else:
            self._complete(leg)

    def _complete(self, leg: VehicleLeg) -> None:
        state = self._vehicle.state
        # Before the node is reached: what it triggers may already begin the next leg.
        state.leg, state.resume = None, leg.rest
        for _, sequence in leg.marks:
            self._reach(sequence)
        self._vehicle.wake()

    # ---- driving -----------------------------------------------------------------------------------------------------

    def set_out(self) -> None:
        """Begin the next leg if there is one and the vehicle may drive, or make the present one longer."""
        vehicle, state = self._vehicle, self._vehicle.state
        traffic = self._context.traffic_of(vehicle.row)
        if state.leg is not None:
            if state.extended and traffic is None:
                self._extend(state.leg)
            state.extended = False
            return
        reason = self._hindrance(traffic)
        if reason:
            vehicle.awake = True
            vehicle.report(order.VehicleFault("held", reason, {"orderId": state.order_id}))
            return
        vehicle.take_back("held")
        builder = LegBuilder(vehicle)
        leg = builder.build()
        self.ask_for(builder.gates)
        if leg is None:
            return
        vehicle.changed = True
        if traffic is None:
            self._begin(leg)
        else:
            self._send(traffic, leg)

    def _hindrance(self, traffic: Traffic | None) -> str:
        """Return why the vehicle may not drive now; empty if it may. Orders of others count where no traffic drives."""
        row, world = self._vehicle.row, self._world
        reason = self._context.hindrance(row)
        if (
            not reason
            and traffic is None
            and (world.motion.control[row] != IDLE or len(world.actions.busy(self._rows)))
        ):
            return OTHERS
        return reason

    def _begin(self, leg: VehicleLeg) -> None:
        self._vehicle.state.leg, self._vehicle.state.extended = leg, False
        self._begin_phase(leg)

    def _extend(self, leg: VehicleLeg) -> None:
        """Go on from the present place with all that was released since, without a stop where none is needed."""
        # Turns are not made longer: the drive after them begins anew.
        state = self._vehicle.state
        if leg.phases[0][0] != "drive":
            return
        before = state.resume
        state.resume = self._progress(leg)
        builder = LegBuilder(self._vehicle)
        longer = builder.build()
        self.ask_for(builder.gates)
        # It could not be driven without a stop: the next leg will be that.
        if longer is None or longer.phases[0][0] != "drive" or longer.reverse != leg.reverse:
            state.resume = before
            return
        self._begin(longer)

    def _begin_phase(self, leg: VehicleLeg) -> None:
        """Start the first phase of a leg: a turn where the vehicle stands, or a drive along its points.

        Speeds are limited point by point, in m/s; the height is kept.
        """
        kind, theta = leg.phases[0]
        world, row = self._world, self._vehicle.row
        z = float(world.position[row, 2])
        # A turn is a path of one point, where the vehicle stands.
        points = [(*self._vehicle.place, math.inf)] if kind == "turn" else leg.points
        array = np.array(points)
        heading = self._vehicle.heading if theta is None else theta
        drive.start_paths(
            world,
            self._rows,
            np.array([len(points)]),
            np.column_stack((array[:, :2], np.full(len(points), z))),
            quaternions.from_yaws(np.full(len(points), heading)),
            direction=_DIRECTIONS[leg.reverse],
            align_final=theta is not None,
            speed_limits=array[:, 2],
            # The master control decides what becomes of its order.
            blocked_timeout=0.0,
        )

    def _send(self, traffic: Traffic, leg: VehicleLeg) -> None:
        """Let the traffic bring the vehicle to the next node."""
        vehicle, state = self._vehicle, self._vehicle.state
        sequence = leg.marks[0][1]
        node = next(node for node in state.nodes if node.sequence == sequence)
        try:
            place = traffic.node_of(traffic.beside(vehicle.row, node.x or 0.0, node.y))
            traffic.resume(vehicle.agent)
            traffic.send(vehicle.agent, place, node.theta)
        except FleetSimError as error:
            state.stuck = str(error)
            vehicle.report(order.VehicleFault("unreachable", str(error), {"nodeId": node.node_id}))
            return
        # The traffic drives node by node, so a leg is one node long.
        state.leg = VehicleLeg(leg.points[:1], leg.marks[:1], [("drive", node.theta)], node=place)

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def _progress(self, leg: VehicleLeg) -> tuple[int, int]:
        """Return the edge (sequence) that the vehicle is on, and the number of the point that it drives to."""
        at = 0
        if leg.phases[0][0] == "drive":
            at = int(self._world.motion.waypoint[self._vehicle.row])
        first = self._vehicle.state.edges[0] if self._vehicle.state.edges else None
        if first is None or leg.node >= 0:
            return NOWHERE
        # On the first edge of a leg that was given up before, points are missing.
        given_up, index = self._vehicle.state.resume
        return first.sequence, at - leg.begin + (index if given_up == first.sequence and leg.begin == 0 else 0)

    def give_up(self) -> None:
        """Forget the leg, to build it anew from where the vehicle is then."""
        state = self._vehicle.state
        if state.leg is not None:
            if state.leg.phases:
                state.resume = self._progress(state.leg)
            state.leg = None
        self._vehicle.wake()

    def brake(self) -> None:
        """Let the vehicle come to a stop where it is."""
        vehicle, state = self._vehicle, self._vehicle.state
        traffic = self._context.traffic_of(vehicle.row)
        if traffic is not None:
            traffic.stop(vehicle.agent)
        elif state.leg is not None:
            # Without a traffic it brakes by a velocity command of 0.
            self.give_up()
            rest = np.zeros((1, 3))
            drive.start_velocities(self._world, self._rows, rest, rest, 0.0)
        state.braking = True
        vehicle.wake()

    def has_stopped(self) -> bool:
        """Return whether the vehicle that brakes stands now."""
        vehicle = self._vehicle
        if vehicle.moves:
            return False
        if self._context.traffic_of(vehicle.row) is None and vehicle.state.leg is None:
            drive.stop(self._world, self._rows)
        vehicle.state.braking = False
        vehicle.changed = True
        return True

    def release(self, *, keep: bool) -> None:
        """Let a vehicle in the traffic go on after `brake`: to its goal (`keep`), or nowhere, giving way to others."""
        vehicle, state = self._vehicle, self._vehicle.state
        traffic = self._context.traffic_of(vehicle.row)
        if traffic is not None:
            traffic.resume(vehicle.agent)
            if not keep:
                traffic.withdraw_goal(vehicle.agent)
        if not keep:
            state.leg, state.resume, state.extended = None, NOWHERE, False


_DIRECTIONS = {None: None, False: MovementDirection.FORWARD, True: MovementDirection.BACKWARD}
