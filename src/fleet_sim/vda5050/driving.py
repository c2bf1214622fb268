"""VehicleDriver: drives the base of an order, leg by leg; by itself, or by the traffic of the site.

Alone, a vehicle drives a leg as one path, whose waypoints tell which nodes it has passed. In a traffic it is sent from
node to node, and the traffic plans its way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fleet_sim.config.modes import MovementDirection
from fleet_sim.core.steering import IDLE, POSE
from fleet_sim.entities import drive
from fleet_sim.errors import FleetSimError
from fleet_sim.spatial import quaternions
from fleet_sim.traffic.traffic import Traffic
from fleet_sim.vda5050.context import VehicleContext
from fleet_sim.vda5050.faults import VehicleFault
from fleet_sim.vda5050.legs import LegBuilder
from fleet_sim.vda5050.vehicle import Vehicle, VehicleLeg

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
            vehicle.report(VehicleFault("held", reason, {"orderId": state.order_id}))
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
            place = traffic.node_of((node.x or 0.0, node.y))
            traffic.resume(vehicle.agent)
            traffic.send(vehicle.agent, (node.x or 0.0, node.y), node.theta)
        except FleetSimError as error:
            state.stuck = str(error)
            vehicle.report(VehicleFault("unreachable", str(error), {"nodeId": node.node_id}))
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
            return -1, 0
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
            state.leg, state.resume, state.extended = None, (-1, 0), False


_DIRECTIONS = {None: None, False: MovementDirection.FORWARD, True: MovementDirection.BACKWARD}
