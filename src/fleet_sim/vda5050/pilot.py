"""VehiclePilot: carries out the order of one vehicle: takes it over, drives it, works on it, ends it."""

from __future__ import annotations

from fleet_sim.spatial import trigonometry as trig
from fleet_sim.vda5050.acceptance import OrderAcceptance
from fleet_sim.vda5050.context import VehicleContext
from fleet_sim.vda5050.driving import VehicleDriver
from fleet_sim.vda5050.faults import ORDER, settle
from fleet_sim.vda5050.legs import is_aligned
from fleet_sim.vda5050.order import OrderEdge, OrderNode, VehicleOrder
from fleet_sim.vda5050.releases import ZoneWatch
from fleet_sim.vda5050.vehicle import ENDED, FINISHED, ActionEntry, Vehicle
from fleet_sim.vda5050.wire.states import MOST_STATES
from fleet_sim.vda5050.work.offer import ActionOffer
from fleet_sim.vda5050.work.worker import ActionWorker


class VehiclePilot:
    """What one vehicle does about its order, step by step. An OrderControl for its instant actions."""

    def __init__(self, vehicle: Vehicle, context: VehicleContext, offer: ActionOffer) -> None:
        self.vehicle = vehicle
        self.acceptance = OrderAcceptance(vehicle, context, offer)
        self.worker = ActionWorker(vehicle, offer)
        self.zones = ZoneWatch(vehicle)
        self.driver = VehicleDriver(vehicle, context, self._reach, self.zones.ask_for)
        self.zones.driver = self.driver
        vehicle.control = self

    # ---- orders ------------------------------------------------------------------------------------------------------

    def take(self, order: VehicleOrder) -> None:
        """Take over an order or an update, unless the vehicle has it already; raises Refused."""
        if not self.acceptance.check(order):
            return
        vehicle, state = self.vehicle, self.vehicle.state
        settle(state.faults, ORDER)
        state.latest = order.digest
        if order.order_id == state.order_id and not state.cancelled and state.decision is not None:
            self._append(order)
        else:
            self._replace(order)
        state.order_id, state.update_id = order.order_id, order.update_id
        state.decision = [node for node in order.nodes if node.released][-1]
        vehicle.wake()

    def _replace(self, order: VehicleOrder) -> None:
        """Begin a new order."""
        vehicle, state = self.vehicle, self.vehicle.state
        state.nodes, state.edges = [*order.nodes], [*order.edges]
        state.actions = _entries([*order.nodes, *order.edges])
        state.queue = [entry for entry in state.queue if entry.sequence < 0]
        if not vehicle.version.is_third:
            # Up to 2.x they are in one list with those of the order.
            state.instants = [entry for entry in state.instants if entry.status not in ENDED]
        state.leg, state.resume, state.entered = None, (-1, 0), -1
        state.cancelled, state.stuck, state.last_place = False, "", None
        first = state.nodes[0]
        if is_aligned(vehicle, first, vehicle.heading):
            self._reach(first.sequence)

    def _append(self, order: VehicleOrder) -> None:
        """Put an update in the place of the horizon."""
        state = self.vehicle.state
        stitch = order.nodes[0]
        # The node where they meet is kept as it was given first; it may have been passed.
        state.nodes = [node for node in state.nodes if node.released] + order.nodes[1:]
        state.edges = [edge for edge in state.edges if edge.released] + [*order.edges]
        state.actions = [entry for entry in state.actions if entry.sequence <= stitch.sequence]
        state.actions += _entries([*order.nodes[1:], *order.edges])
        # An order may go on for days; those that ended first are forgotten, and acceptance limits the others.
        ended = [index for index, entry in enumerate(state.actions) if entry.status in ENDED]
        for index in reversed(ended[: max(0, len(state.actions) - MOST_STATES)]):
            del state.actions[index]
        state.extended = state.leg is not None

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Go on with the order."""
        vehicle, state = self.vehicle, self.vehicle.state
        vehicle.awake = False
        self.driver.look()
        self.zones.look()
        if state.braking and not self.driver.has_stopped():
            vehicle.awake = True
        self.worker.step(dt)
        if state.cancelling:
            self._end_cancelling()
        elif not (state.paused or state.braking or state.stuck):
            self._go_on()

    def _go_on(self) -> None:
        state = self.vehicle.state
        if not state.nodes or not state.nodes[0].released or self.worker.blocks_driving:
            return
        if len(state.nodes) == len(state.edges) and state.leg is None and not self._enter(state.edges[0]):
            return
        if state.leg is None or state.extended:
            self.driver.set_out()

    def _enter(self, edge: OrderEdge) -> bool:
        """Begin the actions of the next edge; return whether the vehicle may drive on it now."""
        state = self.vehicle.state
        if state.entered != edge.sequence:
            state.entered = edge.sequence
            self.worker.trigger(edge.actions)
        return not self.worker.blocks_driving

    def _reach(self, sequence: int) -> None:
        """Count the node with `sequence` as passed, and the edge before it as left."""
        vehicle, state = self.vehicle, self.vehicle.state
        while state.edges and state.edges[0].sequence < sequence:
            self.worker.leave_edge(state.edges.pop(0).actions)
        while state.nodes and state.nodes[0].sequence <= sequence:
            node = state.nodes.pop(0)
            x, y = vehicle.place
            state.last_place = (node.x or 0.0, node.y)
            vehicle.pass_node(node.node_id, node.sequence, trig.hypot_of(x - state.last_place[0], y - node.y))
            self.worker.trigger(node.actions)
        vehicle.wake()
        # On a leg it goes on without a stop: the next edge is entered at once.
        if state.leg is not None and state.leg.marks and state.edges:
            self._enter(state.edges[0])

    # ---- OrderControl ------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop, and pause what can be paused."""
        state = self.vehicle.state
        if not state.paused:
            state.paused = True
            self.worker.pause(True)
            self.driver.brake()

    def resume(self) -> None:
        """Go on after a pause."""
        state = self.vehicle.state
        if state.paused:
            state.paused = False
            self.worker.pause(False)
            self.driver.release(keep=True)
        self.vehicle.wake()

    def cancel(self, entry: ActionEntry) -> None:
        """Cancel the order; `entry` ends when the vehicle stands and nothing of it runs any more."""
        state = self.vehicle.state
        if not state.cancelling:
            self.worker.cancel()
            self.driver.brake()
        state.cancelling.append(entry)
        self.vehicle.wake()

    def _end_cancelling(self) -> None:
        """End the order as cancelled once the vehicle stands and all its actions have ended; until then look again."""
        vehicle, state = self.vehicle, self.vehicle.state
        if state.braking or any(entry.status not in ENDED for entry in state.actions):
            vehicle.awake = True
            return
        self.driver.release(keep=False)
        state.nodes, state.edges, state.cancelled, state.stuck = [], [], True, ""
        for entry in state.cancelling:
            entry.status = FINISHED
        state.cancelling, state.requests = [], []
        vehicle.take_back("release_lost")
        vehicle.take_back("held")
        vehicle.changed = True

    def trigger(self) -> int:
        """End the actions that wait for a trigger; return how many there were."""
        return self.worker.trigger_waiting()

    def retry(self, action_id: str, *, skip: bool) -> bool:
        """Try a failed action again, or skip it; return whether there is one that can be retried."""
        self.vehicle.wake()
        return self.worker.retry(action_id, skip=skip)


def _entries(parts: list[OrderNode | OrderEdge]) -> list[ActionEntry]:
    """Return entries for all actions of `parts`, in the order in which they are passed."""
    return [
        ActionEntry(action, part.sequence)
        for part in sorted(parts, key=lambda part: part.sequence)
        for action in part.actions
    ]
