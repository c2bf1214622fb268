"""Fleet: the robots that serve orders, stop by stop."""

from __future__ import annotations

from typing import Any

from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.errors import FleetSimError
from fleet_sim.orders.book import OrderBook
from fleet_sim.orders.columns import NO_ORDER, OrderColumns
from fleet_sim.orders.courier import NO_PLACE, Courier, Task
from fleet_sim.orders.loads import NO_LOAD, Loads
from fleet_sim.orders.places import Places
from fleet_sim.orders.robots import Robots
from fleet_sim.orders.service import Service
from fleet_sim.orders.settings import OrdersSettings
from fleet_sim.orders.states import LOADED, RobotState
from fleet_sim.orders.timers import Timers
from fleet_sim.orders.transport import Outcome, Transport

SERVED, RETRY = "served", "retry"


class Fleet:
    """Takes each robot through its orders. Python code runs only when something happens to a robot."""

    def __init__(
        self,
        world: World,
        table: OrderColumns,
        book: OrderBook,
        places: Places,
        transport: Transport,
        timers: Timers,
        settings: OrdersSettings,
    ) -> None:
        self._world, self._table, self._book = world, table, book
        self._places, self._transport, self._timers = places, transport, timers
        self._settings = settings
        self.loads = Loads(world, settings.load, timers)
        self._robots = Robots(world, table)
        self.service = Service(settings.service.at_once)
        self.couriers: dict[int, Courier] = {}
        self.changed = True
        """Whether robots or orders became free since somebody last looked."""

    # ---- robots come and go ------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Take in robots with the feature that are new."""
        world, table = self._world, self._table
        for row in table.among(world.rows).tolist():
            if row not in self.couriers and world.kind[row] == KIND_AGENT:
                self.couriers[row] = Courier(row)
                self._robots.begin(row)
                self.changed = True

    def lose(self, row: int) -> None:
        """Let go of a robot that is being removed: its load stays where it is, and that order fails."""
        courier = self.couriers.pop(row, None)
        if courier is None:
            return
        self._transport.forget(row)
        self._leave_place(courier)
        if courier.task is Task.ORDER:
            if courier.load != NO_LOAD:
                self._book.change(courier.order, "fail", self._now, reason="its robot was removed with the load")
            else:
                self._give_back(courier.order, "its robot was removed")
        for order in courier.plan:
            self._give_back(order, "its robot was removed")
        self.changed = True

    # ---- orders ------------------------------------------------------------------------------------------------------

    def take(self, row: int, order: int, position: int) -> None:
        """Put an assigned order into the plan of a robot, at `position`, -1: at the end."""
        courier = self.couriers[row]
        plan = courier.plan
        plan.insert(len(plan) if position < 0 else position, order)
        self._book.change(order, "assign", self._now, robot=self._world.label(row))
        if courier.task in (Task.NONE, Task.PARK) and not courier.resting:
            self._next(courier)

    def cancel(self, order: int, reason: str) -> None:
        """Cancel an order in any state. A robot that has its load already brings it back to the first stop."""
        state = self._book.state(order)
        self._book.change(order, "cancel", self._now, reason=reason)
        courier = next((c for c in self.couriers.values() if order in (c.order, *c.plan)), None)
        self.changed = True
        if courier is None:
            return
        if order in courier.plan:
            courier.plan.remove(order)
        elif state in LOADED:
            self._leave_place(courier)
            courier.task, courier.leg, courier.attempts = Task.RETURN, 0, 0
            self._drive(courier, self._book.stops[order][0])
        else:
            self._free(courier)

    def _next(self, courier: Courier) -> None:
        """Begin the next order of the plan, or have nothing to do."""
        if not courier.plan:
            courier.task, courier.order = Task.NONE, NO_ORDER
            self._robots.show(courier.row, courier.order, RobotState.IDLE)
            self.changed = True
            return
        order = courier.plan.pop(0)
        courier.task, courier.order, courier.leg, courier.attempts = Task.ORDER, order, 0, 0
        self._book.change(order, "depart", self._now)
        self._drive(courier, self._book.stops[order][0])

    # ---- driving -----------------------------------------------------------------------------------------------------

    def _drive(self, courier: Courier, place: int) -> None:
        """Send a robot to a place; where that is closed, it waits until it opens."""
        courier.place, courier.token, courier.resting = place, courier.token + 1, False
        if place in self._places.closed:
            self._transport.stop(courier.row)
            self._robots.show(courier.row, courier.order, RobotState.WAITING)
            return
        try:
            self._transport.send(courier.row, self._places.points[place])
        except FleetSimError as error:
            self._fail(courier, str(error))
            return
        self._robots.show(
            courier.row, courier.order, RobotState.EMPTY if courier.load == NO_LOAD else RobotState.LOADED
        )

    def drive_ended(self, outcome: Outcome) -> None:
        """Hear how a drive ended."""
        courier = self.couriers.get(outcome.row)
        if courier is None or courier.place == NO_PLACE or courier.entered:
            return
        if outcome.reason:
            self._fail(courier, outcome.reason)
        elif courier.task is Task.PARK:
            self._free(courier)
        else:
            courier.entered = True
            self._transport.hold(courier.row)
            if self.service.enter(courier.place, courier.row):
                self._serve(courier)
            else:
                self._robots.show(courier.row, courier.order, RobotState.WAITING)

    def _fail(self, courier: Courier, reason: str) -> None:
        """Hear that a drive failed. An order without its load goes to whoever is free, or fails in the end."""
        courier.attempts += 1
        exhausted = courier.attempts >= self._settings.attempts
        if courier.load != NO_LOAD:
            if exhausted:
                self._abandon(courier, reason)
                return
        elif courier.task is Task.ORDER:
            order, table = courier.order, self._book.table
            table.attempts[order] += 1
            if table.attempts[order] >= self._settings.attempts:
                self._book.change(order, "fail", self._now, reason=reason)
            else:
                self._give_back(order, reason)
            courier.task, courier.order, courier.place = Task.NONE, NO_ORDER, NO_PLACE
        else:
            courier.task, courier.place = Task.NONE, NO_PLACE
        self._rest(courier)

    def _rest(self, courier: Courier) -> None:
        courier.resting, courier.token = True, courier.token + 1
        self._robots.show(courier.row, courier.order, RobotState.WAITING)
        self._after(courier, self._settings.retry_after, RETRY)

    def _abandon(self, courier: Courier, reason: str) -> None:
        """Put the load down where the robot is, as it does not get on; the order fails."""
        if courier.task is Task.ORDER:
            self._book.change(courier.order, "fail", self._now, reason=f"{reason}; the load was put down on the way")
        x, y = self._world.position[courier.row, :2].tolist()
        self._unload(courier, (x, y))
        courier.task, courier.order, courier.place = Task.NONE, NO_ORDER, NO_PLACE
        self._rest(courier)

    # ---- at places ---------------------------------------------------------------------------------------------------

    def _serve(self, courier: Courier) -> None:
        """Begin the service at the place where the robot is."""
        times, order = self._settings.service, self._book.orders[courier.order]
        stops = len(self._book.stops[courier.order])
        if courier.task is Task.RETURN:
            seconds: float | None = times.drop_time
        elif courier.leg == 0:
            self._book.change(courier.order, "reach_pick", self._now)
            seconds = times.pick_time if order.pick_time is None else order.pick_time
        elif courier.leg == stops - 1:
            self._book.change(courier.order, "reach_drop", self._now)
            seconds = times.drop_time if order.drop_time is None else order.drop_time
        else:
            seconds = times.stop_time if order.stop_time is None else order.stop_time
        courier.token += 1
        self._robots.show(courier.row, courier.order, RobotState.SERVING)
        assert seconds is not None
        self._after(courier, seconds, SERVED)

    def timer(self, what: str, row: int, token: int) -> None:
        """Hear that a timer of a robot is due."""
        courier = self.couriers.get(row)
        if courier is None or courier.token != token:
            return
        if what == SERVED:
            self._served(courier)
        elif courier.load != NO_LOAD:
            self._drive_again(courier)
        else:
            courier.resting = False
            self._next(courier)

    def _drive_again(self, courier: Courier) -> None:
        # Somebody else has the robot do something: that is not an attempt of ours.
        if self._world.actions.queued(courier.row):
            courier.token += 1
            self._after(courier, self._settings.retry_after, RETRY)
        else:
            self._drive(courier, courier.place)

    def _served(self, courier: Courier) -> None:
        """End the service: take or put down the load, and go on."""
        book, place, order = self._book, courier.place, courier.order
        self._leave_place(courier)
        if courier.task is Task.RETURN:
            self._unload(courier, self._places.points[place])
            self._free(courier)
            return
        if courier.leg == 0:
            book.change(order, "lift", self._now)
            entry = book.orders[order]
            top = float(self._table.top[courier.row])
            courier.load = self.loads.lift(courier.row, top, entry.id, entry.load)
            self._robots.set_loaded(courier.row, True)
        elif courier.leg == len(book.stops[order]) - 1:
            self._deliver(courier, place)
            return
        courier.leg, courier.attempts = courier.leg + 1, 0
        self._drive(courier, book.stops[order][courier.leg])

    def _deliver(self, courier: Courier, place: int) -> None:
        lost = self.loads.carried_by(courier.load) != courier.row
        self._unload(courier, self._places.points[place])
        if lost:
            reason = "its load was taken from the robot or removed"
            self._book.change(courier.order, "fail", self._now, reason=reason)
        else:
            self._book.change(courier.order, "deliver", self._now)
        self._free(courier)

    def _leave_place(self, courier: Courier) -> None:
        if courier.entered:
            courier.entered = False
            following = self.service.leave(courier.place, courier.row)
            if following is not None:
                self._serve(self.couriers[following])

    def _unload(self, courier: Courier, point: tuple[float, float]) -> None:
        if self.loads.carried_by(courier.load) == courier.row:
            self.loads.put_down(courier.load, point)
        courier.load = NO_LOAD
        self._robots.set_loaded(courier.row, False)

    def _free(self, courier: Courier) -> None:
        """Let a robot without a load go on with its plan."""
        self._leave_place(courier)
        self._transport.stop(courier.row)
        courier.order, courier.place, courier.token = NO_ORDER, NO_PLACE, courier.token + 1
        self._next(courier)

    # ---- stations ----------------------------------------------------------------------------------------------------

    def open(self, place: int) -> None:
        """Let robots go on that waited for a place to open."""
        self.changed = True
        for courier in list(self.couriers.values()):
            if courier.place == place and not courier.entered and not courier.resting:
                self._drive(courier, place)

    def close(self, place: int) -> None:
        """Let robots hear that a place is closed: orders that lead there are given back, those with a load wait."""
        reason = f"station {self._places.names[place]} is closed"
        for courier in list(self.couriers.values()):
            for order in [order for order in courier.plan if place in self._book.stops[order]]:
                courier.plan.remove(order)
                self._give_back(order, reason)
            if courier.entered or courier.resting:
                continue
            if courier.task is Task.ORDER and courier.leg == 0 and place in self._book.stops[courier.order]:
                self._give_back(courier.order, reason)
                self._free(courier)
            elif courier.place == place:
                self._drive(courier, place)

    # ---- details -----------------------------------------------------------------------------------------------------

    @property
    def _now(self) -> float:
        return self._world.clock.time

    def _give_back(self, order: int, reason: str) -> None:
        self._book.change(order, "give_back", self._now, reason=reason)
        self.changed = True

    def _after(self, courier: Courier, seconds: float, what: str) -> None:
        clock = self._world.clock
        self._timers.add(clock.tick + clock.ticks(seconds), what, courier.row, courier.token)

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return {row: courier.copy() for row, courier in self.couriers.items()}, self.service.save(), self.changed

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        couriers, service, self.changed = saved
        self.couriers = {row: courier.copy() for row, courier in couriers.items()}
        self.service.restore(service)
