"""What a master control does to the order under way: cancel, pause, trigger, retry."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.vda5050.faults import VehicleFault
from fleet_sim.vda5050.vehicle import ActionEntry, Vehicle
from fleet_sim.vda5050.work.action import ActionParameter, InstantAction

_ACTION_ID = (ActionParameter("actionId", "STRING"),)


class CancelOrder(InstantAction):
    """Cancels the order; FINISHED once the vehicle stands and nothing of the order runs any more."""

    doc = "Cancel the order."
    parameters: ClassVar[tuple[ActionParameter, ...]] = (ActionParameter("orderId", "STRING", True, "from 3.0 on"),)

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to cancel, where there is an order."""
        state = vehicle.state
        wanted = entry.action.parameters.get("orderId", state.order_id)
        if vehicle.is_idle or wanted != state.order_id:
            reason = "there is no order to cancel" if vehicle.is_idle else f"order {wanted!r} is not the active one"
            self.fail(entry, reason)
            vehicle.report(VehicleFault("no_order", reason, {"actionId": entry.action.action_id}))
            return
        vehicle.control.cancel(entry)


class StartPause(InstantAction):
    """Stops the vehicle, and pauses its actions."""

    doc = "Pause."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Begin to brake, where it drives."""
        vehicle.control.pause()

    def proceed(self, vehicle: Vehicle, entry: ActionEntry, dt: float) -> None:
        """End when it stands."""
        if not vehicle.state.braking:
            self.finish(entry)


class StopPause(InstantAction):
    """Lets the vehicle go on."""

    doc = "Go on after a pause."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Go on."""
        vehicle.control.resume()
        self.finish(entry)


class Trigger(InstantAction):
    """Ends the actions that wait for a trigger."""

    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    doc = "Tell the vehicle that what it waits for has happened."

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Tell the waiting actions."""
        if vehicle.control.trigger():
            self.finish(entry)
        else:
            self.fail(entry, "nothing waits for a trigger")


class Retry(InstantAction):
    """Tries an action again that failed and may be retried."""

    versions: ClassVar[tuple[str, ...]] = ("3.0",)
    doc = "Try a failed action again."
    parameters: ClassVar[tuple[ActionParameter, ...]] = _ACTION_ID
    skip = False

    def begin(self, vehicle: Vehicle, entry: ActionEntry) -> None:
        """Try it again, or give it up."""
        wanted = entry.action.parameters["actionId"]
        if vehicle.control.retry(wanted, skip=self.skip):
            self.finish(entry)
        else:
            self.fail(entry, f"action {wanted!r} is not RETRIABLE")


class SkipRetry(Retry):
    """Gives an action up that could be retried."""

    doc = "Give up a failed action."
    skip = True
