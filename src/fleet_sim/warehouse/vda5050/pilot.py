"""VehiclePilot: carries out the order of one vehicle: takes it over, drives it, works on it, ends it."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Mapping, Sequence
from time import strptime
from typing import Any

import numpy as np

from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.warehouse.vda5050 import order as orders
from fleet_sim.warehouse.vda5050 import vehicle as vehicles
from fleet_sim.warehouse.vda5050.acceptance import OrderAcceptance
from fleet_sim.warehouse.vda5050.actions import INSTANT, TRIGGER, ActionOffer
from fleet_sim.warehouse.vda5050.driving import VehicleDriver, is_aligned
from fleet_sim.warehouse.vda5050.messages import MOST_STATES, MalformedMessage
from fleet_sim.warehouse.vda5050.order import INSTANT as WITH_INSTANT
from fleet_sim.world.conditions import FAILED, ConditionColumns, OperatingMode, action_fails

# ZoneWatch: asks for releases of zones, hears the answers, and sees when a vehicle has left a zone.


LOST = "release_lost"


class ZoneWatch:
    """The requests of one vehicle."""

    def __init__(self, vehicle: vehicles.Vehicle) -> None:
        self._vehicle = vehicle
        self.driver: VehicleDriver
        """Set by the pilot."""

    def ask_for(self, zones: Sequence[str]) -> None:
        """Ask for a release of zones, unless that was done."""
        vehicle, state = self._vehicle, self._vehicle.state
        known = {request.zone_id for request in state.requests}
        for item in state.zone_sets:
            for zone in item.zones if item.enabled and item.map_id == state.map_id else ():
                if zone.zone_id in zones and zone.zone_id not in known:
                    state.request_count += 1
                    name = f"{vehicle.serial}-{state.request_count}"
                    state.requests.append(orders.ZoneRequest(name, zone.zone_id, item.zone_set_id))
                    vehicle.wake()

    def answer(self, values: Mapping[str, Any], received: float) -> None:
        """Handle a response; raises Refused for an unknown request, and MalformedMessage."""
        vehicle, state = self._vehicle, self._vehicle.state
        wanted, grant = values["requestId"], values["grantType"]
        request = next((item for item in state.requests if item.request_id == wanted), None)
        if request is None:
            raise orders.Refused("zone_set", f"there is no request {wanted!r}", requestId=wanted)
        vehicle.wake()
        if grant == "GRANTED":
            request.expires = self._expiry(values.get("leaseExpiry"), received)
            request.status = "GRANTED"
            if not any(item.status in ("REVOKED", "EXPIRED") for item in state.requests):
                vehicle.take_back(LOST)
                state.stuck = ""
            state.extended = state.leg is not None
        elif grant == "REJECTED" and request.status == "REQUESTED":
            state.requests.remove(request)
            state.stuck = f"zone {request.zone_id!r} was rejected"
            vehicle.report(orders.VehicleFault("unreachable", state.stuck, {"zoneId": request.zone_id}))
        elif grant == "REVOKED":
            self._lose(request, "REVOKED")

    def _expiry(self, text: str | None, received: float) -> float | None:
        """Return the simulated time at which a lease ends, which is in wall time."""
        if text is None:
            return None
        try:
            ends = timegm(strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float("0" + (text[19:].rstrip("Z") or ".0"))
        except ValueError as error:
            raise MalformedMessage("leaseExpiry", f"expected 2026-01-31T12:00:00.000Z, got {text[:40]!r}") from error
        return self._vehicle.world.clock.time + max(ends - received, 0.0)

    def look(self) -> None:
        """See which zones were entered and left, and which leases have ended."""
        vehicle, state = self._vehicle, self._vehicle.state
        if not state.requests:
            return
        vehicle.awake = True
        zones = {zone.zone_id: zone for zone in orders.enabled_zones(state.zone_sets, state.map_id)}
        for request in list(state.requests):
            zone = zones.get(request.zone_id)
            inside = zone is not None and self._is_in(zone)
            if request.entered and not inside:
                state.requests.remove(request)
                vehicle.take_back(LOST)
                vehicle.changed = True
            elif request.status == "GRANTED":
                request.entered = inside
                if request.expires is not None and vehicle.world.clock.time >= request.expires:
                    self._lose(request, "EXPIRED")

    def _is_in(self, zone: orders.VehicleZone) -> bool:
        # A millimetre less: a vehicle that waits before a zone is not inside.
        radius = footprint_radius(self._vehicle.world, self._vehicle.row) - 1e-3
        return bool(zone.touches(np.array([self._vehicle.place]), radius)[0])

    def _lose(self, request: orders.ZoneRequest, status: str) -> None:
        """Brake, wait or drive on after a release was lost: as the zone says, or by asking anew before it is entered.

        `status` is what the request becomes where the vehicle has to stop in the zone.
        """
        vehicle, state = self._vehicle, self._vehicle.state
        vehicle.wake()
        zones = {zone.zone_id: zone for zone in orders.enabled_zones(state.zone_sets, state.map_id)}
        zone = zones.get(request.zone_id)
        if zone is None or not self._is_in(zone):
            # It asks anew where it still has to go there.
            state.requests.remove(request)
            self.driver.brake()
        elif zone.loss == "STOP":
            request.status = status
            state.stuck = f"the release of zone {zone.zone_id!r} was lost"
            vehicle.report(orders.VehicleFault(LOST, state.stuck, {"zoneId": zone.zone_id}))
            self.driver.brake()
        else:
            request.expires = None


# ActionWorker: runs the actions of one vehicle, together or one after the other as their blocking types say.


ALONE = ("HARD", "SINGLE")
STANDING = ("HARD", "SOFT")
MOST_INSTANTS = 200
"""Instant actions in a state; of more, those that ended first are left out, and no more are begun."""


class ActionWorker:
    """Begins what is triggered in order, goes on with what runs, and says whether the vehicle may drive meanwhile."""

    def __init__(self, vehicle: vehicles.Vehicle, offer: ActionOffer) -> None:
        self._vehicle, self._offer = vehicle, offer

    # ---- triggering --------------------------------------------------------------------------------------------------

    def trigger(self, actions: Sequence[orders.OrderAction]) -> None:
        """Begin actions of a node or edge that was reached, as soon as those before let them."""
        ids = {action.action_id for action in actions}
        state = self._vehicle.state
        # Those that are under way, or have ended, are not begun again.
        state.queue += [
            entry for entry in state.actions if entry.action.action_id in ids and entry.status == vehicles.WAITING
        ]
        if ids:
            self._vehicle.wake()
            self._begin_next()

    def take_instant(self, action: orders.OrderAction) -> None:
        """Begin an instant action; a refused one is reported as FAILED, with an error."""
        vehicle, state = self._vehicle, self._vehicle.state
        if any(entry.action.action_id == action.action_id for entry in state.instants):
            # Sent again, as its state was not heard yet.
            return
        entry = vehicles.ActionEntry(action)
        state.instants.append(entry)
        self._forget_old()
        vehicle.wake()
        # It is in the states already, so that a refusal is told as its end.
        reason = self._offer.refusal(vehicle, action.action_type, INSTANT, action.parameters)
        # Those that act at once, such as the end of a pause, are taken at any time.
        if not reason and len(state.instants) > MOST_INSTANTS and not self._offer.actions[action.action_type].at_once:
            reason = f"{MOST_INSTANTS} instant actions have not ended yet"
        if reason:
            entry.status, entry.result = vehicles.FAILED, reason
            references = {"actionId": action.action_id, "actionType": action.action_type}
            vehicle.report(orders.VehicleFault("instant", reason, references | {"topic": "instantActions"}))
            return
        orders.settle(state.faults, WITH_INSTANT)
        if self._offer.actions[action.action_type].at_once:
            self._begin(entry)
        else:
            state.queue.append(entry)

    def _forget_old(self) -> None:
        instants = self._vehicle.state.instants
        while len(instants) > MOST_INSTANTS:
            gone = next((entry for entry in instants if entry.status in vehicles.ENDED), None)
            if gone is None:
                return
            instants.remove(gone)

    # ---- running -----------------------------------------------------------------------------------------------------

    @property
    def blocks_driving(self) -> bool:
        """Whether an action that was triggered wants the vehicle to stand."""
        return any(entry.action.blocking in STANDING for entry in self._vehicle.state.queue)

    def step(self, dt: float) -> None:
        """Begin and go on."""
        state = self._vehicle.state
        # Some act at once and are in no queue, but take their time.
        for entry in [*state.queue, *self._at_once_under_way()]:
            if entry.status == vehicles.RUNNING:
                self._offer.actions[entry.action.action_type].proceed(self._vehicle, entry, dt)
                self._look_at(entry)
        self._begin_next()
        if state.queue or self._at_once_under_way():
            self._vehicle.awake = True

    def _at_once_under_way(self) -> list[vehicles.ActionEntry]:
        state = self._vehicle.state
        return [entry for entry in state.instants if entry.status == vehicles.RUNNING and entry not in state.queue]

    def _begin_next(self) -> None:
        state = self._vehicle.state
        # Nothing begins in a pause; what runs is paused by itself.
        if state.paused:
            return
        running = [entry for entry in state.queue if entry.status != vehicles.WAITING]
        for entry in [entry for entry in state.queue if entry.status == vehicles.WAITING]:
            alone = any(other.action.blocking in ALONE for other in running)
            # In their order: what must wait keeps those behind it waiting, too.
            if alone or (running and entry.action.blocking in ALONE):
                return
            # It begins when the vehicle has come to rest.
            if entry.action.blocking in STANDING and self._vehicle.moves:
                return
            self._begin(entry)
            if entry.status not in vehicles.ENDED:
                running.append(entry)

    def _begin(self, entry: vehicles.ActionEntry) -> None:
        entry.status = vehicles.RUNNING
        self._vehicle.changed = True
        action = self._offer.actions[entry.action.action_type]
        if not action.at_once and action_fails(self._vehicle.world, self._vehicle.row):
            action.fail(entry, FAILED)
        else:
            action.begin(self._vehicle, entry)
        self._look_at(entry)

    def _look_at(self, entry: vehicles.ActionEntry) -> None:
        """See whether an action has ended."""
        vehicle, state = self._vehicle, self._vehicle.state
        if entry.status == vehicles.RUNNING:
            return
        vehicle.changed = True
        # A cancelOrder that fails is told by its own error.
        if entry.status == vehicles.FAILED and entry.action.action_type != "cancelOrder":
            references = {"actionId": entry.action.action_id, "actionType": entry.action.action_type}
            vehicle.report(orders.VehicleFault("action_failed", entry.result, references))
        if entry.status in vehicles.ENDED:
            self._offer.actions[entry.action.action_type].end(vehicle, entry)
            state.queue = [other for other in state.queue if other is not entry]

    # ---- from outside ------------------------------------------------------------------------------------------------

    def leave_edge(self, actions: Sequence[orders.OrderAction]) -> None:
        """End the actions of an edge that is left: they are done while the vehicle is on it."""
        ids = {action.action_id for action in actions}
        for entry in [entry for entry in self._vehicle.state.queue if entry.action.action_id in ids]:
            entry.status = vehicles.FINISHED
            self._look_at(entry)

    def pause(self, paused: bool) -> None:
        """Pause what can be paused, or let it go on."""
        before, after = (vehicles.RUNNING, vehicles.PAUSED) if paused else (vehicles.PAUSED, vehicles.RUNNING)
        for entry in self._vehicle.state.queue:
            if entry.status == before and self._offer.actions[entry.action.action_type].can_pause:
                entry.status = after

    def cancel(self) -> None:
        """Fail all actions of the order, those that cannot be cancelled when they have ended."""
        state = self._vehicle.state
        for entry in state.actions:
            action = self._offer.actions[entry.action.action_type]
            if entry.status in vehicles.ENDED or (entry.status == vehicles.RUNNING and not action.can_cancel):
                # It ends by itself, and the order with it.
                continue
            began = entry.status != vehicles.WAITING
            entry.status, entry.result = vehicles.FAILED, "the order was cancelled"
            if began:
                action.end(self._vehicle, entry)
        state.queue = [entry for entry in state.queue if entry.status not in vehicles.ENDED]

    def trigger_waiting(self) -> int:
        """End the actions that wait for a trigger; return how many there were."""
        waiting = [
            entry for entry in self._vehicle.state.queue if entry.stage == TRIGGER and entry.status == vehicles.RUNNING
        ]
        for entry in waiting:
            entry.status = vehicles.FINISHED
            self._look_at(entry)
        return len(waiting)

    def retry(self, action_id: str, *, skip: bool) -> bool:
        """Try a failed action again, or skip it; return whether there is one."""
        for entry in self._vehicle.state.queue:
            if entry.action.action_id == action_id and entry.status == vehicles.RETRIABLE:
                if skip:
                    entry.status = vehicles.FAILED
                    self._look_at(entry)
                else:
                    entry.result = ""
                    self._begin(entry)
                return True
        return False


class VehiclePilot:
    """What one vehicle does about its order, step by step. An OrderControl for its instant actions."""

    def __init__(self, vehicle: vehicles.Vehicle, context: vehicles.VehicleContext, offer: ActionOffer) -> None:
        self.vehicle = vehicle
        self.acceptance = OrderAcceptance(vehicle, context, offer)
        self.worker = ActionWorker(vehicle, offer)
        self.zones = ZoneWatch(vehicle)
        self.driver = VehicleDriver(vehicle, context, self._reach, self.zones.ask_for)
        self.zones.driver = self.driver
        vehicle.control = self

    # ---- orders ------------------------------------------------------------------------------------------------------

    def take(self, order: orders.VehicleOrder) -> None:
        """Take over an order or an update, unless the vehicle has it already; raises Refused."""
        if not self.acceptance.check(order):
            return
        vehicle, state = self.vehicle, self.vehicle.state
        orders.settle(state.faults, orders.ORDER)
        state.latest = order.digest
        if order.order_id == state.order_id and not state.cancelled and state.decision is not None:
            self._append(order)
        else:
            self._replace(order)
        state.order_id, state.update_id = order.order_id, order.update_id
        state.decision = [node for node in order.nodes if node.released][-1]
        vehicle.wake()

    def _replace(self, order: orders.VehicleOrder) -> None:
        """Begin a new order."""
        vehicle, state = self.vehicle, self.vehicle.state
        state.nodes, state.edges = [*order.nodes], [*order.edges]
        state.actions = _entries([*order.nodes, *order.edges])
        state.queue = [entry for entry in state.queue if entry.sequence < 0]
        if not vehicle.version.is_third:
            # Up to 2.x they are in one list with those of the order.
            state.instants = [entry for entry in state.instants if entry.status not in vehicles.ENDED]
        state.leg, state.resume, state.entered = None, vehicles.NOWHERE, -1
        state.cancelled, state.stuck, state.last_place = False, "", None
        first = state.nodes[0]
        if is_aligned(vehicle, first, vehicle.heading):
            self._reach(first.sequence)

    def _append(self, order: orders.VehicleOrder) -> None:
        """Put an update in the place of the horizon."""
        state = self.vehicle.state
        stitch = order.nodes[0]
        # The node where they meet is kept as it was given first; it may have been passed.
        state.nodes = [node for node in state.nodes if node.released] + order.nodes[1:]
        state.edges = [edge for edge in state.edges if edge.released] + [*order.edges]
        state.actions = [entry for entry in state.actions if entry.sequence <= stitch.sequence]
        state.actions += _entries([*order.nodes[1:], *order.edges])
        # An order may go on for days; those that ended first are forgotten, and acceptance limits the others.
        ended = [index for index, entry in enumerate(state.actions) if entry.status in vehicles.ENDED]
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

    def _enter(self, edge: orders.OrderEdge) -> bool:
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

    def cancel(self, entry: vehicles.ActionEntry) -> None:
        """Cancel the order; `entry` ends when the vehicle stands and nothing of it runs any more."""
        state = self.vehicle.state
        if not state.cancelling:
            self.worker.cancel()
            self.driver.brake()
        state.cancelling.append(entry)
        self.vehicle.wake()

    def look_at_conditions(self, conditions: ConditionColumns) -> None:
        """Tell what disturbs the robot now, where that has changed; who is switched on anew, or driven by a person, has
        no order any more."""
        vehicle, row = self.vehicle, self.vehicle.row
        mode, boots = int(conditions.operating_mode[row]), int(conditions.boots[row])
        now = (mode, int(conditions.emergency_stop[row]), int(conditions.faults[row]), boots)
        before = vehicle.state.told or (0, 0, 0, 0)
        if boots != before[3]:
            self.driver.release(keep=False)
            vehicle.state = vehicle.fresh_state()
            vehicle.wants_factsheet = True
        elif mode != before[0] and not vehicle.is_idle and OperatingMode.MANUAL.code <= max(mode, before[0]):
            self.cancel(vehicles.ActionEntry(orders.OrderAction("", "cancelOrder")))
        vehicle.state.told = now
        # Errors may have changed where these have not.
        vehicle.wake()

    def _end_cancelling(self) -> None:
        """End the order as cancelled once the vehicle stands and all its actions have ended; until then look again."""
        vehicle, state = self.vehicle, self.vehicle.state
        if state.braking or any(entry.status not in vehicles.ENDED for entry in state.actions):
            vehicle.awake = True
            return
        self.driver.release(keep=False)
        state.nodes, state.edges, state.cancelled, state.stuck = [], [], True, ""
        for entry in state.cancelling:
            entry.status = vehicles.FINISHED
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


def _entries(parts: list[orders.OrderNode | orders.OrderEdge]) -> list[vehicles.ActionEntry]:
    """Return entries for all actions of `parts`, in the order in which they are passed."""
    return [
        vehicles.ActionEntry(action, part.sequence)
        for part in sorted(parts, key=lambda part: part.sequence)
        for action in part.actions
    ]
