"""ActionWorker: runs the actions of one vehicle, together or one after the other as their blocking types say."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.vda5050.faults import INSTANT as WITH_INSTANT
from fleet_sim.vda5050.faults import VehicleFault, settle
from fleet_sim.vda5050.order import OrderAction
from fleet_sim.vda5050.vehicle import (
    ENDED,
    FAILED,
    FINISHED,
    PAUSED,
    RETRIABLE,
    RUNNING,
    WAITING,
    ActionEntry,
    Vehicle,
)
from fleet_sim.vda5050.work.action import INSTANT
from fleet_sim.vda5050.work.offer import ActionOffer
from fleet_sim.vda5050.work.waiting import TRIGGER

ALONE = ("HARD", "SINGLE")
STANDING = ("HARD", "SOFT")
MOST_INSTANTS = 200
"""Instant actions in a state; of more, those that ended first are left out, and no more are begun."""


class ActionWorker:
    """Begins what is triggered in order, goes on with what runs, and says whether the vehicle may drive meanwhile."""

    def __init__(self, vehicle: Vehicle, offer: ActionOffer) -> None:
        self._vehicle, self._offer = vehicle, offer

    # ---- triggering --------------------------------------------------------------------------------------------------

    def trigger(self, actions: Sequence[OrderAction]) -> None:
        """Begin actions of a node or edge that was reached, as soon as those before let them."""
        ids = {action.action_id for action in actions}
        state = self._vehicle.state
        # Those that are under way, or have ended, are not begun again.
        state.queue += [entry for entry in state.actions if entry.action.action_id in ids and entry.status == WAITING]
        if ids:
            self._vehicle.wake()
            self._begin_next()

    def take_instant(self, action: OrderAction) -> None:
        """Begin an instant action; a refused one is reported as FAILED, with an error."""
        vehicle, state = self._vehicle, self._vehicle.state
        if any(entry.action.action_id == action.action_id for entry in state.instants):
            # Sent again, as its state was not heard yet.
            return
        entry = ActionEntry(action)
        state.instants.append(entry)
        self._forget_old()
        vehicle.wake()
        # It is in the states already, so that a refusal is told as its end.
        reason = self._offer.refusal(vehicle, action.action_type, INSTANT, action.parameters)
        # Those that act at once, such as the end of a pause, are taken at any time.
        if not reason and len(state.instants) > MOST_INSTANTS and not self._offer.actions[action.action_type].at_once:
            reason = f"{MOST_INSTANTS} instant actions have not ended yet"
        if reason:
            entry.status, entry.result = FAILED, reason
            references = {"actionId": action.action_id, "actionType": action.action_type}
            vehicle.report(VehicleFault("instant", reason, references | {"topic": "instantActions"}))
            return
        settle(state.faults, WITH_INSTANT)
        if self._offer.actions[action.action_type].at_once:
            self._begin(entry)
        else:
            state.queue.append(entry)

    def _forget_old(self) -> None:
        instants = self._vehicle.state.instants
        while len(instants) > MOST_INSTANTS:
            gone = next((entry for entry in instants if entry.status in ENDED), None)
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
            if entry.status == RUNNING:
                self._offer.actions[entry.action.action_type].proceed(self._vehicle, entry, dt)
                self._look_at(entry)
        self._begin_next()
        if state.queue or self._at_once_under_way():
            self._vehicle.awake = True

    def _at_once_under_way(self) -> list[ActionEntry]:
        state = self._vehicle.state
        return [entry for entry in state.instants if entry.status == RUNNING and entry not in state.queue]

    def _begin_next(self) -> None:
        state = self._vehicle.state
        # Nothing begins in a pause; what runs is paused by itself.
        if state.paused:
            return
        running = [entry for entry in state.queue if entry.status != WAITING]
        for entry in [entry for entry in state.queue if entry.status == WAITING]:
            alone = any(other.action.blocking in ALONE for other in running)
            # In their order: what must wait keeps those behind it waiting, too.
            if alone or (running and entry.action.blocking in ALONE):
                return
            # It begins when the vehicle has come to rest.
            if entry.action.blocking in STANDING and self._vehicle.moves:
                return
            self._begin(entry)
            if entry.status not in ENDED:
                running.append(entry)

    def _begin(self, entry: ActionEntry) -> None:
        entry.status = RUNNING
        self._vehicle.changed = True
        self._offer.actions[entry.action.action_type].begin(self._vehicle, entry)
        self._look_at(entry)

    def _look_at(self, entry: ActionEntry) -> None:
        """See whether an action has ended."""
        vehicle, state = self._vehicle, self._vehicle.state
        if entry.status == RUNNING:
            return
        vehicle.changed = True
        # A cancelOrder that fails is told by its own error.
        if entry.status == FAILED and entry.action.action_type != "cancelOrder":
            references = {"actionId": entry.action.action_id, "actionType": entry.action.action_type}
            vehicle.report(VehicleFault("action_failed", entry.result, references))
        if entry.status in ENDED:
            self._offer.actions[entry.action.action_type].end(vehicle, entry)
            state.queue = [other for other in state.queue if other is not entry]

    # ---- from outside ------------------------------------------------------------------------------------------------

    def leave_edge(self, actions: Sequence[OrderAction]) -> None:
        """End the actions of an edge that is left: they are done while the vehicle is on it."""
        ids = {action.action_id for action in actions}
        for entry in [entry for entry in self._vehicle.state.queue if entry.action.action_id in ids]:
            entry.status = FINISHED
            self._look_at(entry)

    def pause(self, paused: bool) -> None:
        """Pause what can be paused, or let it go on."""
        before, after = (RUNNING, PAUSED) if paused else (PAUSED, RUNNING)
        for entry in self._vehicle.state.queue:
            if entry.status == before and self._offer.actions[entry.action.action_type].can_pause:
                entry.status = after

    def cancel(self) -> None:
        """Fail all actions of the order, those that cannot be cancelled when they have ended."""
        state = self._vehicle.state
        for entry in state.actions:
            action = self._offer.actions[entry.action.action_type]
            if entry.status in ENDED or (entry.status == RUNNING and not action.can_cancel):
                # It ends by itself, and the order with it.
                continue
            began = entry.status != WAITING
            entry.status, entry.result = FAILED, "the order was cancelled"
            if began:
                action.end(self._vehicle, entry)
        state.queue = [entry for entry in state.queue if entry.status not in ENDED]

    def trigger_waiting(self) -> int:
        """End the actions that wait for a trigger; return how many there were."""
        waiting = [entry for entry in self._vehicle.state.queue if entry.stage == TRIGGER and entry.status == RUNNING]
        for entry in waiting:
            entry.status = FINISHED
            self._look_at(entry)
        return len(waiting)

    def retry(self, action_id: str, *, skip: bool) -> bool:
        """Try a failed action again, or skip it; return whether there is one."""
        for entry in self._vehicle.state.queue:
            if entry.action.action_id == action_id and entry.status == RETRIABLE:
                if skip:
                    entry.status = FAILED
                    self._look_at(entry)
                else:
                    entry.result = ""
                    self._begin(entry)
                return True
        return False
