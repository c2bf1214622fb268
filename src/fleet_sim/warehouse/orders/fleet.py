"""OrderFleet: the robots that serve orders, stop by stop.

What a robot does is its `Task`, and how far it is with that its `Stage`. What follows when something
happens to it is in one table, `OrderFleet._table`: by task and event, what is done, the task after it, and how the
robot goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Protocol, TypeAlias

import numpy as np

from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.registry import saved
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.sensing.collision.bounds import refresh_bounds
from fleet_sim.warehouse.orders.order import NO_ORDER, ROBOT_STATES, OrderState, RobotState
from fleet_sim.warehouse.orders.places import NO_PLACE, OrderParts, Spot, Stands, Timers
from fleet_sim.warehouse.orders.settings import OrdersSettings, WhenIdle
from fleet_sim.warehouse.orders.stations import Service
from fleet_sim.warehouse.orders.transport import NO_LOAD, DriveEnd, Loads, TimeSheet, Transport
from fleet_sim.warehouse.sites.site import StationKind
from fleet_sim.world.clock import duration_of
from fleet_sim.world.conditions import FAILED, action_fails, conditions_of
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.state_files import Stateful

# Courier: what one robot is doing, as a value; and who takes robots through other errands than orders.


@saved
class Task(Enum):
    """What a robot drives for."""

    NONE = "none"
    FETCH = "fetch"
    """The load of an order, to its first stop."""
    CARRY = "carry"
    """The load of an order, to its other stops."""
    RETURN = "return"
    """The load of an order that was cancelled, back to its first stop."""
    PARK = "park"
    CHARGE = "charge"
    """Also while it waits for a charger."""
    POD = "pod"


@saved
class Stage(Enum):
    """How far a robot is with its task."""

    STANDING = "standing"
    """It has nowhere to go."""
    DRIVING = "driving"
    """To its place."""
    BARRED = "barred"
    """It waits until its place opens."""
    AT_PLACE = "at_place"
    """It has arrived, and is served, or waits for its turn."""
    RESTING = "resting"
    """It waits before it drives again, because a drive failed."""
    OUT = "out"
    """It has no energy and stands."""


@saved
@dataclass
class Courier:
    """A robot that serves orders: its plan, and where it is in the order at hand."""

    row: int
    task: Task = Task.NONE
    stage: Stage = Stage.STANDING
    order: int = -1
    leg: int = 0
    """Index in the stops of the order that it drives to or is at."""
    place: int = NO_PLACE
    """Where it drives to, or is served."""
    load: int = NO_LOAD
    attempts: int = 0
    token: int = 0
    """Changes with whatever it does next, so that timers of what it did before mean nothing."""
    plan: list[int] = field(default_factory=list)
    """Orders that it has next."""

    @property
    def is_free(self) -> bool:
        """Whether it can begin something else at once: it has no task, or parks."""
        return self.task in (Task.NONE, Task.PARK) and self.stage not in (Stage.RESTING, Stage.OUT)

    def copy(self) -> Courier:
        """Return an independent copy."""
        return replace(self, plan=list(self.plan))


class Dock(Protocol):
    """Where robots charge between orders."""

    def wants(self, row: int) -> bool:
        """Return whether a robot is to charge when it has done what it does."""

    def begin(self, courier: Courier) -> None:
        """Send a robot that has nothing else to do to charge."""

    def arrived(self, courier: Courier) -> None:
        """Charge a robot that has got where it was sent."""

    def forget(self, courier: Courier) -> None:
        """Do without a robot that does not get there, or is removed."""


class Porter(Protocol):
    """Who takes robots through errands with pods (`Task.POD`)."""

    def check(self, courier: Courier) -> None:
        """Raise InvalidValueError where a robot must not drive now."""

    def arrived(self, courier: Courier) -> None:
        """Go on with a robot that has got where it was sent."""

    def served(self, courier: Courier) -> None:
        """Go on with a robot that has stood for as long as it was to."""

    def give_up(self, courier: Courier, reason: str) -> None:
        """Do without a robot that is removed, or that has no pod and cannot go on."""


SERVED, RETRY = "served", "retry"
LOST = "its load was taken from the robot or removed"


class CourierEvent(Enum):
    """What happens to a robot."""

    ARRIVED = auto()
    """It has reached its place."""
    SERVED = auto()
    """It has stood there for as long as it was to."""
    FINISHED = auto()
    """So it has, at the last stop of its order."""
    FAILED = auto()
    """It does not get to its place."""
    EXHAUSTED = auto()
    """So it does not, for the last time that it may try; where the table does not have it, it is FAILED."""
    RESTED = auto()
    """It has stood for a while since its drive failed."""
    CLOSED = auto()
    """Its place, or a later stop of an order that it has not fetched, is closed."""
    EMPTIED = auto()
    """It has no energy."""
    POWERED = auto()
    """It has energy again."""
    CANCELLED = auto()
    """The order in hand is cancelled."""
    REMOVED = auto()
    """It is being removed."""


Action: TypeAlias = Callable[[Courier, str], None]
"""What is done with a robot, for a reason."""
Onward: TypeAlias = Callable[[Courier], None]
"""How a robot goes on."""
Table: TypeAlias = dict[Task, dict[CourierEvent, tuple[Action, Task | None, Onward]]]
SAME = None
"""The task after an event is the one before it, or one that the action itself has set."""


class OrderFleet(Stateful):
    """Takes each robot through its orders. Python code runs only when something happens to a robot."""

    STATE = ("couriers", "service", "changed", "times", "_parking")

    charging: Dock
    """Set by the Dock itself."""
    porter: Porter
    """Set by the Porter itself, where there are pods."""

    def __init__(
        self, parts: OrderParts, transport: Transport, timers: Timers, settings: OrdersSettings, times: TimeSheet
    ) -> None:
        self._world, self._columns, self._book, self._places = world, _, _, places = parts
        self._transport, self._timers = transport, timers
        self._settings = settings
        self.loads = Loads(world, settings.load, timers)
        self.times = times
        self._at = at = settings.service.by_place(places)
        self.service = Service(settings.service.at_once, {place: own.at_once for place, own in at.items()})
        self.admitted = {place: own.admit for place, own in at.items() if own.admit is not None}
        """How many orders stations admit at a time that robots have, by number; others admit all."""
        self.couriers: dict[int, Courier] = {}
        self._parking = Stands(places, StationKind.PARK) if settings.idle is WhenIdle.PARK else None
        self.changed = True
        """Whether robots or orders became free since somebody last looked."""
        self._reactions = self._table()

    def _table(self) -> Table:
        """Return the table of all tasks and events: (what is done, the task after it, how the robot goes on)."""
        on = CourierEvent
        # fmt: off
        return {
            Task.NONE: {
                on.RESTED:    (self._nothing,         SAME,        self._next),
                on.POWERED:   (self._nothing,         SAME,        self._next),
            },
            Task.FETCH: {
                on.ARRIVED:   (self._enter,           SAME,        self._stay),
                on.SERVED:    (self._lift,            Task.CARRY,  self._drive_on),
                on.FAILED:    (self._hand_back,       Task.NONE,   self.rest),
                on.EXHAUSTED: (self._fail_order,      Task.NONE,   self.rest),
                on.CLOSED:    (self._hand_back,       Task.NONE,   self.release),
                on.EMPTIED:   (self._hand_back,       Task.NONE,   self._stay),
                on.CANCELLED: (self._leave_place,     Task.NONE,   self.release),
                on.REMOVED:   (self._hand_back,       Task.NONE,   self._stay),
            },
            Task.CARRY: {
                on.ARRIVED:   (self._enter,           SAME,        self._stay),
                on.SERVED:    (self._leave_place,     SAME,        self._drive_on),
                on.FINISHED:  (self._deliver,         Task.NONE,   self.release),
                on.FAILED:    (self._nothing,         SAME,        self.rest),
                on.EXHAUSTED: (self._abandon,         Task.NONE,   self.rest),
                on.RESTED:    (self._nothing,         SAME,        self._drive_again),
                on.CLOSED:    (self._nothing,         SAME,        self._drive_there),
                on.POWERED:   (self._nothing,         SAME,        self._drive_there),
                on.CANCELLED: (self._leave_place,     Task.RETURN, self._drive_back),
                on.REMOVED:   (self._fail_with_load,  Task.NONE,   self._stay),
            },
            Task.RETURN: {
                on.ARRIVED:   (self._enter,           SAME,        self._stay),
                on.SERVED:    (self._put_down,        Task.NONE,   self.release),
                on.FAILED:    (self._nothing,         SAME,        self.rest),
                on.EXHAUSTED: (self._abandon,         Task.NONE,   self.rest),
                on.RESTED:    (self._nothing,         SAME,        self._drive_again),
                on.CLOSED:    (self._nothing,         SAME,        self._drive_there),
                on.POWERED:   (self._nothing,         SAME,        self._drive_there),
            },
            Task.PARK: {
                on.ARRIVED:   (self._nothing,         Task.NONE,   self._show_idle),
                on.FAILED:    (self._leave_stand,     Task.NONE,   self.rest),
                on.CLOSED:    (self._nothing,         SAME,        self._drive_there),
                on.EMPTIED:   (self._nothing,         Task.NONE,   self._stay),
            },
            Task.CHARGE: {
                on.ARRIVED:   (self._connect,         SAME,        self._stay),
                on.FAILED:    (self._leave_stand,     Task.NONE,   self.rest),
                on.CLOSED:    (self._nothing,         SAME,        self._drive_there),
                on.EMPTIED:   (self._nothing,         Task.NONE,   self._stay),
            },
            Task.POD: {
                on.ARRIVED:   (self._pod_arrived,     SAME,        self._stay),
                on.SERVED:    (self._pod_served,      SAME,        self._stay),
                on.FAILED:    (self._drop_pod,        SAME,        self.rest),
                on.RESTED:    (self._nothing,         SAME,        self._drive_again),
                on.CLOSED:    (self._nothing,         SAME,        self._drive_there),
                on.EMPTIED:   (self._drop_pod,        SAME,        self._stay),
                on.POWERED:   (self._nothing,         SAME,        self._drive_there),
                on.REMOVED:   (self._give_up_pod,     SAME,        self._stay),
            },
        }
        # fmt: on

    def _react(self, courier: Courier, event: CourierEvent, reason: str = "") -> None:
        """Do what the table says; nothing where it says nothing."""
        reactions = self._reactions[courier.task]
        if event is CourierEvent.EXHAUSTED and event not in reactions:
            event = CourierEvent.FAILED
        if event in reactions:
            act, task, go_on = reactions[event]
            act(courier, reason)
            if task is Task.NONE:
                self._clear(courier)
            elif task is not SAME:
                courier.task = task
            go_on(courier)

    # ---- what happens to robots --------------------------------------------------------------------------------------

    def join(self) -> None:
        """Take in robots with the feature that are new."""
        world, columns = self._world, self._columns
        for row in columns.among(world.rows).tolist():
            if row not in self.couriers and world.kind[row] == KIND_AGENT:
                self.couriers[row] = Courier(row)
                self._measure(row)
                self.changed = True

    def _measure(self, row: int) -> None:
        """Note that a robot serves from now on, how much room it takes, and how high its loads stand."""
        world, columns = self._world, self._columns
        refresh_bounds(world)
        top = float(world.aabb_upper[row, 2] - world.position[row, 2])
        columns.top[row] = max(top, 0.0) if np.isfinite(top) else 0.0
        # Once: loads come and go all the time.
        columns.radius[row] = footprint_radius(world, row)
        columns.since[row] = self._now
        columns.measured_at[row] = world.position[row, :2]

    def on_robot_removed(self, row: int) -> None:
        """Let go of a robot that is being removed: its load stays where it is, and that order fails."""
        courier = self.couriers.pop(row, None)
        if courier is None:
            return
        self._transport.forget(row)
        self.times.forget(row)
        self.leave_stands(courier)
        self._leave_place(courier)
        reason = "its robot was removed"
        self._react(courier, CourierEvent.REMOVED, reason)
        for order in courier.plan:
            self._give_back(order, reason)
        self.changed = True

    def assign(self, row: int, order: int, position: int) -> None:
        """Put an assigned order into the plan of a robot, at `position`, -1: at the end."""
        courier = self.couriers[row]
        plan = courier.plan
        plan.insert(len(plan) if position < 0 else position, order)
        self._book.change(order, "assign", self._now, robot=self._world.label(row))
        if courier.is_free:
            self._next(courier)

    def cancel(self, order: int, reason: str) -> None:
        """Cancel an order in any state. A robot that has its load already brings it back to the first stop."""
        self._book.change(order, "cancel", self._now, reason=reason)
        # Looked for in all robots: cancelling is rare, and an index would have to be kept with each change of a plan.
        courier = next((c for c in self.couriers.values() if order in (c.order, *c.plan)), None)
        self.changed = True
        if courier is None:
            return
        if order in courier.plan:
            courier.plan.remove(order)
        else:
            self._react(courier, CourierEvent.CANCELLED)

    def drive_ended(self, outcome: DriveEnd) -> None:
        """Go on with a robot whose drive has ended."""
        courier = self.couriers.get(outcome.row)
        if courier is None or courier.stage is not Stage.DRIVING:
            return
        if outcome.reason:
            self.fail(courier, outcome.reason)
        else:
            self._react(courier, CourierEvent.ARRIVED)

    def queue(self, row: int) -> None:
        """Note that a robot waits in the queue of the station that it drives to."""
        courier, waits = self.couriers.get(row), RobotState.WAITING
        if courier is not None and courier.stage is Stage.DRIVING and self._columns.state[row] != waits.code:
            self._note(courier, waits, courier.place)

    def fail(self, courier: Courier, reason: str) -> None:
        """Go on with a robot that does not get where it was sent: after so many attempts not in the same way."""
        conditions = conditions_of(self._world)
        if conditions is not None and conditions.halted[courier.row]:
            # It may not drive at all: no other attempt would be better.
            self._react(courier, CourierEvent.FAILED, reason)
            return
        if courier.task is Task.FETCH:
            # Whoever tries to fetch it: the attempts of the order count.
            self._book.table.attempts[courier.order] += 1
            attempts = self._book.table.attempts[courier.order]
        else:
            courier.attempts += 1
            attempts = courier.attempts
        self._react(
            courier, CourierEvent.EXHAUSTED if attempts >= self._settings.attempts else CourierEvent.FAILED, reason
        )

    def timer(self, what: str, row: int, token: int) -> None:
        """Go on with a robot whose timer is due."""
        courier = self.couriers.get(row)
        if courier is None or courier.token != token:
            return
        if what != SERVED:
            self._react(courier, CourierEvent.RESTED)
        elif courier.task in (Task.FETCH, Task.CARRY) and action_fails(self._world, row):
            self._leave_place(courier)
            self.fail(courier, FAILED)
        elif courier.task is Task.CARRY and self._is_last(courier):
            self._react(courier, CourierEvent.FINISHED)
        else:
            self._react(courier, CourierEvent.SERVED)

    def run_out(self, courier: Courier) -> None:
        """Let a robot stand that has no energy: it gives its orders back, but keeps a load until it can go on."""
        courier.stage, courier.token = Stage.OUT, courier.token + 1
        self._transport.stop(courier.row)
        reason = "its robot has no energy"
        self._give_back_plan(courier, reason)
        self._react(courier, CourierEvent.EMPTIED, reason)
        self.show(courier, RobotState.OUT)

    def resume_after_charge(self, courier: Courier) -> None:
        """Let a robot go on that has energy again."""
        courier.stage = Stage.STANDING
        self._react(courier, CourierEvent.POWERED)

    def open(self, place: int) -> None:
        """Let robots go on that waited for a place to open."""
        self.changed = True
        for courier in list(self.couriers.values()):
            if courier.place == place and courier.stage not in (Stage.AT_PLACE, Stage.RESTING):
                self.drive(courier, place)

    def close(self, place: int) -> None:
        """Note that a place is closed: orders that lead there are given back, those with a load wait."""
        reason = f"station {self._places.names[place]} is closed"
        for courier in list(self.couriers.values()):
            for order in [order for order in courier.plan if place in self._book.stops[order]]:
                courier.plan.remove(order)
                self._give_back(order, reason)
            # Who is at a stop already is served to the end.
            if courier.stage in (Stage.AT_PLACE, Stage.RESTING):
                continue
            if courier.place == place or (courier.task is Task.FETCH and place in self._book.stops[courier.order]):
                self._react(courier, CourierEvent.CLOSED, reason)

    # ---- how robots go on --------------------------------------------------------------------------------------------

    def _stay(self, courier: Courier) -> None:
        """Go on with what it does."""

    def _next(self, courier: Courier) -> None:
        """Begin the next order of the plan, or go to charge, or have nothing to do."""
        is_out = courier.stage is Stage.OUT
        if self.charging.wants(courier.row) and not is_out:
            self._give_back_plan(courier, "its robot has to charge")
            courier.order = NO_ORDER
            self.leave_stands(courier)
            self.charging.begin(courier)
        elif courier.plan and not is_out:
            self.leave_stands(courier)
            order = courier.plan.pop(0)
            courier.task, courier.order, courier.leg, courier.attempts = Task.FETCH, order, 0, 0
            self._book.change(order, "depart", self._now)
            self.drive(courier, self._book.stops[order][0])
        else:
            self._clear(courier)
            self.changed = True
            self._become_idle(courier)

    def _become_idle(self, courier: Courier) -> None:
        is_out = courier.stage is Stage.OUT
        self.show(courier, RobotState.OUT if is_out else RobotState.IDLE)
        if self._parking is None or is_out or self._parking.has(courier.row):
            return
        place = self._parking.take(courier.row, self._world.position[courier.row])
        if place is not None:
            courier.task = Task.PARK
            self.drive(courier, place)

    def _clear(self, courier: Courier) -> None:
        """Note that a robot has no task; one without energy goes on having none."""
        courier.task, courier.order, courier.place = Task.NONE, NO_ORDER, NO_PLACE
        if courier.stage is not Stage.OUT:
            courier.stage = Stage.STANDING

    def release(self, courier: Courier) -> None:
        """Let a robot without a load go on with its plan."""
        self._leave_place(courier)
        self._transport.stop(courier.row)
        self._clear(courier)
        courier.token += 1
        self._next(courier)

    def rest(self, courier: Courier) -> None:
        """Let a robot stand for a while whose drive failed."""
        courier.stage, courier.token = Stage.RESTING, courier.token + 1
        self.show(courier, RobotState.WAITING)
        self._after(courier, self._settings.retry_after, RETRY)

    def drive(self, courier: Courier, place: int) -> None:
        """Send a robot to a place; where that is closed, it waits until it opens."""
        # A new token, so that a timer begun for the place before means nothing any more.
        courier.place, courier.token = place, courier.token + 1
        if courier.stage is Stage.OUT:
            self.show(courier, RobotState.OUT)
            return
        if place in self._places.closed:
            courier.stage = Stage.BARRED
            self._transport.stop(courier.row)
            self.show(courier, RobotState.WAITING)
            return
        courier.stage = Stage.DRIVING
        try:
            if courier.task is Task.POD:
                self.porter.check(courier)
            self._transport.send(courier.row, self._places.points[place])
        except FleetSimError as error:
            self.fail(courier, str(error))
            return
        self.show(courier, RobotState.EMPTY if courier.load == NO_LOAD else RobotState.LOADED)

    def _drive_there(self, courier: Courier) -> None:
        self.drive(courier, courier.place)

    def _drive_again(self, courier: Courier) -> None:
        # Somebody else has the robot do something: that is not an attempt of ours.
        if self._world.actions.queued(courier.row):
            courier.token += 1
            self._after(courier, self._settings.retry_after, RETRY)
        else:
            self.drive(courier, courier.place)

    def _drive_on(self, courier: Courier) -> None:
        """Drive to the next stop of the order."""
        courier.leg, courier.attempts = courier.leg + 1, 0
        self.drive(courier, self._book.stops[courier.order][courier.leg])

    def _drive_back(self, courier: Courier) -> None:
        """Drive to the first stop of the order again."""
        courier.leg, courier.attempts = 0, 0
        self.drive(courier, self._book.stops[courier.order][0])

    def _show_idle(self, courier: Courier) -> None:
        self.show(courier, RobotState.IDLE)

    # ---- what is done ------------------------------------------------------------------------------------------------

    def _nothing(self, courier: Courier, reason: str) -> None:
        """Only go on."""

    def stand(self, courier: Courier) -> None:
        """Let a robot stand at its place that it has reached: it gives way to nobody."""
        courier.stage = Stage.AT_PLACE
        self._transport.hold(courier.row)

    def _enter(self, courier: Courier, reason: str) -> None:
        """Begin the service at a stop, or wait for its turn there."""
        self.stand(courier)
        if self.service.enter(courier.place, courier.row):
            self._serve(courier)
        else:
            self.show(courier, RobotState.WAITING)

    def _serve(self, courier: Courier) -> None:
        """Begin the service of a robot at its stop."""
        book, number, at = self._book, courier.order, courier.place
        times, order = self._at.get(at, self._settings.service), book.orders[number]
        usual, own, stop = times.stop_time, order.stop_time, courier.leg
        if courier.task is Task.RETURN:
            # After all of its stops, so with a number of its own.
            usual, own, stop = times.drop_time, None, len(book.stops[number])
        elif courier.task is Task.FETCH:
            book.change(number, "reach_pick", self._now)
            usual, own = times.pick_time, order.pick_time
        elif self._is_last(courier):
            # Again where it failed the first time.
            if book.table.state[number] != OrderState.DROPPING.code:
                book.change(number, "reach_drop", self._now)
            usual, own = times.drop_time, order.drop_time
        # By order and stop: which robot comes, and when, changes no time.
        key = self._world.random.key("service times")
        duration = duration_of(usual, key, number, stop) if own is None else own
        self.work(courier, duration * self._places.slowness.get(at, 1.0))

    def _is_last(self, courier: Courier) -> bool:
        """Return whether a robot is at, or drives to, the last stop of its order."""
        return courier.leg == len(self._book.stops[courier.order]) - 1

    def work(self, courier: Courier, seconds: float, state: RobotState = RobotState.SERVING) -> None:
        """Let a robot that stands be served, or wait, for a while."""
        courier.token += 1
        self.show(courier, state)
        self._after(courier, seconds, SERVED)

    def _leave_place(self, courier: Courier, reason: str = "") -> None:
        """Let the next robot be served at the place where this one is."""
        if courier.stage is Stage.AT_PLACE:
            courier.stage = Stage.STANDING
            following = self.service.leave(courier.place, courier.row)
            if following is not None:
                self._serve(self.couriers[following])

    def _lift(self, courier: Courier, reason: str) -> None:
        """Put the load of an order on its robot."""
        self._leave_place(courier)
        self._book.change(courier.order, "lift", self._now)
        order, top = self._book.orders[courier.order], float(self._columns.top[courier.row])
        self.set_loaded(courier, self.loads.lift(courier.row, top, order.id, order.load))

    def _deliver(self, courier: Courier, reason: str) -> None:
        """Put the load down at the last stop; the order fails if the robot has no load any more."""
        self._leave_place(courier)
        # Asked first: once it is put down nobody carries it.
        lost = self.loads.carried_by(courier.load) != courier.row
        self._put_down_at(courier, self._places.points[courier.place])
        if lost:
            self._book.change(courier.order, "fail", self._now, reason=LOST)
        else:
            self._book.change(courier.order, "deliver", self._now)

    def _put_down(self, courier: Courier, reason: str) -> None:
        self._leave_place(courier)
        self._put_down_at(courier, self._places.points[courier.place])

    def _abandon(self, courier: Courier, reason: str) -> None:
        """Put the load down where the robot is; its order, unless it was cancelled before, fails."""
        if courier.task is Task.CARRY:
            self._fail_order(courier, f"{reason}; the load was put down on the way")
        self._put_down_at(courier, self._places.spot(self._world.position[courier.row]))

    def _put_down_at(self, courier: Courier, point: Spot) -> None:
        """Put the load of a robot on the floor at `point` in m, if it still has it."""
        if self.loads.carried_by(courier.load) == courier.row:
            self.loads.put_down(courier.load, point)
        self.set_loaded(courier, NO_LOAD)

    def _hand_back(self, courier: Courier, reason: str) -> None:
        """Let another robot fetch the order."""
        self._give_back(courier.order, reason)

    def _fail_order(self, courier: Courier, reason: str) -> None:
        self._book.change(courier.order, "fail", self._now, reason=reason)

    def _fail_with_load(self, courier: Courier, reason: str) -> None:
        # Nobody else can go on with a load that lies where its robot was: no other robot is waited for.
        self._fail_order(courier, f"{reason} with the load")

    def _leave_stand(self, courier: Courier, reason: str) -> None:
        self.leave_stands(courier)

    def leave_stands(self, courier: Courier) -> None:
        """Let others have the parking place or the charger of a robot."""
        if self._parking is not None:
            self._parking.leave(courier.row)
        self.charging.forget(courier)

    def _connect(self, courier: Courier, reason: str) -> None:
        self.stand(courier)
        self.charging.arrived(courier)

    def _pod_arrived(self, courier: Courier, reason: str) -> None:
        self.porter.arrived(courier)

    def _pod_served(self, courier: Courier, reason: str) -> None:
        self.porter.served(courier)

    def _drop_pod(self, courier: Courier, reason: str) -> None:
        """Do without a pod that the robot does not have yet; one that it has stays on it."""
        if courier.load == NO_LOAD:
            self._give_up_pod(courier, reason)
            self._clear(courier)

    def _give_up_pod(self, courier: Courier, reason: str) -> None:
        self.porter.give_up(courier, reason)

    # ---- details -----------------------------------------------------------------------------------------------------

    @property
    def _now(self) -> float:
        return self._world.clock.time

    def set_loaded(self, courier: Courier, load: int) -> None:
        """Let a robot have a load, or none with NO_LOAD, and drive at its speed for that."""
        columns, motion, row = self._columns, self._world.motion, courier.row
        courier.load, loaded = load, load != NO_LOAD
        if loaded == bool(columns.slowed[row]):
            return
        columns.slowed[row] = loaded
        if loaded:
            columns.own_limit[row], columns.own_limits[row] = motion.linear_limit[row], motion.linear_limits[row]
            motion.linear_limit[row] *= columns.loaded_speed[row]
            motion.linear_limits[row] *= columns.loaded_speed[row]
        else:
            motion.linear_limit[row], motion.linear_limits[row] = columns.own_limit[row], columns.own_limits[row]

    def show(self, courier: Courier, state: RobotState) -> None:
        """Note in the columns what a robot does from now on."""
        self._note(courier, state, courier.place if courier.stage is Stage.AT_PLACE else NO_PLACE)

    def _note(self, courier: Courier, state: RobotState, place: int) -> None:
        """Note what a robot does from now on, and the place where it stands to be served; NO_PLACE if at none."""
        columns, now, row = self._columns, self._now, courier.row
        seconds = float(now - columns.since[row])
        columns.times[row, columns.state[row]] += seconds
        self.times.book(row, int(columns.order[row]), ROBOT_STATES[columns.state[row]], seconds, place)
        columns.state[row], columns.since[row], columns.order[row] = state.code, now, courier.order

    def _give_back(self, order: int, reason: str) -> None:
        self._book.change(order, "give_back", self._now, reason=reason)
        self.changed = True

    def _give_back_plan(self, courier: Courier, reason: str) -> None:
        for order in courier.plan:
            self._give_back(order, reason)
        courier.plan.clear()

    def _after(self, courier: Courier, seconds: float, what: str) -> None:
        clock = self._world.clock
        self._timers.add(clock.tick + clock.ticks(seconds), what, courier.row, courier.token)
