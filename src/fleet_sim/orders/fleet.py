"""OrderFleet: the robots that serve orders, stop by stop."""

from __future__ import annotations

from typing import Any

from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.errors import FleetSimError
from fleet_sim.orders.book import OrderParts
from fleet_sim.orders.columns import NO_ORDER
from fleet_sim.orders.courier import NO_PLACE, Courier, Task
from fleet_sim.orders.errands import Dock, Porter
from fleet_sim.orders.handover import Handover
from fleet_sim.orders.loads import NO_LOAD, Loads
from fleet_sim.orders.robots import Robots
from fleet_sim.orders.service import Service
from fleet_sim.orders.settings import OrdersSettings, WhenIdle
from fleet_sim.orders.stands import Stands
from fleet_sim.orders.states import LOADED, RobotState
from fleet_sim.orders.timers import Timers
from fleet_sim.orders.transport import DriveEnd, Transport
from fleet_sim.sites.stations import StationKind

SERVED, RETRY = "served", "retry"


class OrderFleet:
    """Takes each robot through its orders. Python code runs only when something happens to a robot."""

    def __init__(self, parts: OrderParts, transport: Transport, timers: Timers, settings: OrdersSettings) -> None:
        self._world, self._table, self._book, self._places = world, table, _, places = parts
        self._transport, self._timers = transport, timers
        self._settings = settings
        self.loads = Loads(world, settings.load, timers)
        self._robots = Robots(world, table)
        times = settings.service
        self._handover = Handover(parts, self.loads, self._robots, times)
        self.service = Service(times.at_once)
        self.couriers: dict[int, Courier] = {}
        self.charging: Dock | None = None
        self.porter: Porter | None = None
        self._parking = Stands(places, StationKind.PARK) if settings.idle is WhenIdle.PARK else None
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
        self.leave_stands(courier)
        self._leave_place(courier)
        if courier.task is Task.POD and self.porter is not None:
            self.porter.give_up(courier, "its robot was removed")
        elif courier.task is Task.ORDER:
            if courier.load != NO_LOAD:
                # Nobody else can go on with a load that lies where its robot was: the order fails, rather than wait for
                # another.
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
        # Looked for in all robots: cancelling is rare, and an index would have to be kept with each change of a plan.
        courier = next((c for c in self.couriers.values() if order in (c.order, *c.plan)), None)
        self.changed = True
        if courier is None:
            return
        if order in courier.plan:
            courier.plan.remove(order)
        elif state in LOADED:
            self._leave_place(courier)
            courier.task, courier.leg, courier.attempts = Task.RETURN, 0, 0
            self.drive(courier, self._book.stops[order][0])
        else:
            self.set_free(courier)

    def _next(self, courier: Courier) -> None:
        """Begin the next order of the plan, or go to charge, or have nothing to do."""
        if self.charging is not None and self.charging.wants(courier.row) and not courier.out:
            for order in courier.plan:
                self._give_back(order, "its robot has to charge")
            courier.plan.clear()
            courier.order = NO_ORDER
            self.leave_stands(courier)
            self.charging.begin(courier)
        elif courier.plan and not courier.out:
            self._begin(courier, courier.plan.pop(0))
        else:
            courier.task, courier.order = Task.NONE, NO_ORDER
            self.changed = True
            self._have_nothing_to_do(courier)

    def _have_nothing_to_do(self, courier: Courier) -> None:
        self.show(courier, RobotState.OUT if courier.out else RobotState.IDLE)
        if self._parking is None or courier.out or self._parking.has(courier.row):
            return
        place = self._parking.take(courier.row, self._world.position[courier.row])
        if place is not None:
            courier.task = Task.PARK
            self.drive(courier, place)

    def _begin(self, courier: Courier, order: int) -> None:
        self.leave_stands(courier)
        courier.task, courier.order, courier.leg, courier.attempts = Task.ORDER, order, 0, 0
        self._book.change(order, "depart", self._now)
        self.drive(courier, self._book.stops[order][0])

    # ---- driving -----------------------------------------------------------------------------------------------------

    def drive(self, courier: Courier, place: int) -> None:
        """Send a robot to a place; where that is closed, it waits until it opens."""
        # A new token, so that a timer begun for the place before means nothing any more.
        courier.place, courier.token, courier.resting = place, courier.token + 1, False
        if courier.out:
            self.show(courier, RobotState.OUT)
            return
        if place in self._places.closed:
            self._transport.stop(courier.row)
            self.show(courier, RobotState.WAITING)
            return
        try:
            if courier.task is Task.POD and self.porter is not None:
                self.porter.check(courier)
            self._transport.send(courier.row, self._places.points[place])
        except FleetSimError as error:
            self._fail(courier, str(error))
            return
        self._robots.show(
            courier.row, courier.order, RobotState.EMPTY if courier.load == NO_LOAD else RobotState.LOADED
        )

    def drive_ended(self, outcome: DriveEnd) -> None:
        """Hear how a drive ended."""
        courier = self.couriers.get(outcome.row)
        if courier is None or courier.place == NO_PLACE or courier.entered:
            return
        if outcome.reason:
            self._fail(courier, outcome.reason)
        elif courier.task is Task.PARK:
            courier.task, courier.place = Task.NONE, NO_PLACE
            self.show(courier, RobotState.IDLE)
        elif courier.task is Task.POD and self.porter is not None:
            self.porter.arrived(courier)
        else:
            self.stand(courier)
            if courier.task is Task.CHARGE and self.charging is not None:
                self.charging.arrived(courier)
            elif self.service.enter(courier.place, courier.row):
                self._serve(courier)
            else:
                self.show(courier, RobotState.WAITING)

    def stand(self, courier: Courier) -> None:
        """Let a robot stand at its place that it has reached: it gives way to nobody."""
        courier.entered = True
        self._transport.hold(courier.row)

    def _fail(self, courier: Courier, reason: str) -> None:
        """Hear that a drive failed. An order without its load goes to whoever is free, or fails in the end."""
        if courier.task is Task.POD and self.porter is not None:
            self.porter.failed(courier, reason)
            return
        courier.attempts += 1
        exhausted = courier.attempts >= self._settings.attempts
        if courier.load != NO_LOAD:
            if exhausted:
                self._handover.abandon(courier, reason)
                courier.task, courier.order, courier.place = Task.NONE, NO_ORDER, NO_PLACE
        elif courier.task is Task.ORDER:
            order, table = courier.order, self._book.table
            table.attempts[order] += 1
            if table.attempts[order] >= self._settings.attempts:
                self._book.change(order, "fail", self._now, reason=reason)
            else:
                self._give_back(order, reason)
            courier.task, courier.order, courier.place = Task.NONE, NO_ORDER, NO_PLACE
        else:
            self.leave_stands(courier)
            courier.task, courier.place = Task.NONE, NO_PLACE
        self.rest(courier)

    def rest(self, courier: Courier) -> None:
        """Let a robot stand for a while whose drive failed."""
        courier.resting, courier.token = True, courier.token + 1
        self.show(courier, RobotState.WAITING)
        self._after(courier, self._settings.retry_after, RETRY)

    # ---- at places ---------------------------------------------------------------------------------------------------

    def _serve(self, courier: Courier) -> None:
        """Begin the service at the place where the robot is."""
        self.work(courier, self._handover.begin(courier))

    def work(self, courier: Courier, seconds: float, state: RobotState = RobotState.SERVING) -> None:
        """Let a robot that stands be served, or wait, for a while."""
        courier.token += 1
        self.show(courier, state)
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
            self.drive(courier, courier.place)

    def _served(self, courier: Courier) -> None:
        """End the service: take or put down the load, and go on."""
        if courier.task is Task.POD and self.porter is not None:
            self.porter.served(courier)
            return
        self._leave_place(courier)
        if courier.task is Task.RETURN:
            self._handover.put_down(courier, self._places.points[courier.place])
            self.set_free(courier)
        elif courier.leg > 0 and self._handover.is_last(courier):
            self._handover.deliver(courier)
            self.set_free(courier)
        else:
            if courier.leg == 0:
                self._handover.lift(courier)
            courier.leg, courier.attempts = courier.leg + 1, 0
            self.drive(courier, self._book.stops[courier.order][courier.leg])

    def _leave_place(self, courier: Courier) -> None:
        if courier.entered:
            courier.entered = False
            following = self.service.leave(courier.place, courier.row)
            if following is not None:
                self._serve(self.couriers[following])

    def set_free(self, courier: Courier) -> None:
        """Let a robot without a load go on with its plan."""
        self._leave_place(courier)
        self._transport.stop(courier.row)
        courier.order, courier.place, courier.token = NO_ORDER, NO_PLACE, courier.token + 1
        self._next(courier)

    def leave_stands(self, courier: Courier) -> None:
        """Let others have the parking place or the charger of a robot."""
        if self._parking is not None:
            self._parking.leave(courier.row)
        if self.charging is not None:
            self.charging.forget(courier)

    # ---- energy ------------------------------------------------------------------------------------------------------

    def set_loaded(self, courier: Courier, load: int) -> None:
        """Let a robot have a load, or none with NO_LOAD, and drive at its speed for that."""
        courier.load = load
        self._robots.set_loaded(courier.row, load != NO_LOAD)

    def run_out(self, courier: Courier) -> None:
        """Let a robot stand that has no energy: it gives its orders back, but keeps a load until it can go on."""
        courier.out, courier.resting, courier.token = True, False, courier.token + 1
        self._transport.stop(courier.row)
        reason = "its robot has no energy"
        for order in courier.plan:
            self._give_back(order, reason)
        courier.plan.clear()
        if courier.load == NO_LOAD:
            if courier.task is Task.POD and self.porter is not None:
                self.porter.give_up(courier, reason)
            elif courier.task is Task.ORDER:
                self._give_back(courier.order, reason)
            courier.task, courier.order, courier.place = Task.NONE, NO_ORDER, NO_PLACE
        self.show(courier, RobotState.OUT)

    def go_on(self, courier: Courier) -> None:
        """Let a robot go on that has energy again."""
        courier.out = False
        if courier.load == NO_LOAD:
            self._next(courier)
        else:
            self.drive(courier, courier.place)

    # ---- stations ----------------------------------------------------------------------------------------------------

    def open(self, place: int) -> None:
        """Let robots go on that waited for a place to open."""
        self.changed = True
        for courier in list(self.couriers.values()):
            if courier.place == place and not courier.entered and not courier.resting:
                self.drive(courier, place)

    def close(self, place: int) -> None:
        """Let robots hear that a place is closed: orders that lead there are given back, those with a load wait."""
        reason = f"station {self._places.names[place]} is closed"
        for courier in list(self.couriers.values()):
            for order in [order for order in courier.plan if place in self._book.stops[order]]:
                courier.plan.remove(order)
                self._give_back(order, reason)
            # Who is at a stop already is served to the end.
            if courier.entered or courier.resting:
                continue
            if courier.task is Task.ORDER and courier.leg == 0 and place in self._book.stops[courier.order]:
                self._give_back(courier.order, reason)
                self.set_free(courier)
            elif courier.place == place:
                self.drive(courier, place)

    # ---- details -----------------------------------------------------------------------------------------------------

    @property
    def _now(self) -> float:
        return self._world.clock.time

    def show(self, courier: Courier, state: RobotState) -> None:
        """Note in the columns what a robot does from now on."""
        self._robots.show(courier.row, courier.order, state)

    def _give_back(self, order: int, reason: str) -> None:
        self._book.change(order, "give_back", self._now, reason=reason)
        self.changed = True

    def _after(self, courier: Courier, seconds: float, what: str) -> None:
        clock = self._world.clock
        self._timers.add(clock.tick + clock.ticks(seconds), what, courier.row, courier.token)

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        parking = None if self._parking is None else self._parking.save()
        return (
            {row: courier.copy() for row, courier in self.couriers.items()},
            self.service.save(),
            self.changed,
            parking,
        )

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        couriers, service, self.changed, parking = saved
        if self._parking is not None:
            self._parking.restore(parking)
        self.couriers = {row: courier.copy() for row, courier in couriers.items()}
        self.service.restore(service)
