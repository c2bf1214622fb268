"""Handover: what happens to an order and its load at the stops, while the robot stands there."""

from __future__ import annotations

from fleet_sim.orders.book import OrderParts
from fleet_sim.orders.courier import Courier, Task
from fleet_sim.orders.loads import NO_LOAD, Loads
from fleet_sim.orders.places import Spot
from fleet_sim.orders.robots import Robots
from fleet_sim.orders.settings import ServiceSettings

LOST = "its load was taken from the robot or removed"


class Handover:
    """Takes loads and puts them down, and changes the states of orders with it."""

    def __init__(self, parts: OrderParts, loads: Loads, robots: Robots, times: ServiceSettings) -> None:
        self._world, self._table, self._book, self._places = parts
        self._loads, self._robots, self._times = loads, robots, times

    def begin(self, courier: Courier) -> float:
        """Begin the service of a robot at its stop; return how long in s it takes."""
        book, times, now = self._book, self._times, self._world.clock.time
        if courier.task is Task.RETURN:
            return times.drop_time
        order = book.orders[courier.order]
        if courier.task is Task.FETCH:
            book.change(courier.order, "reach_pick", now)
            return times.pick_time if order.pick_time is None else order.pick_time
        if self.is_last(courier):
            book.change(courier.order, "reach_drop", now)
            return times.drop_time if order.drop_time is None else order.drop_time
        return times.stop_time if order.stop_time is None else order.stop_time

    def is_last(self, courier: Courier) -> bool:
        """Return whether a robot is at, or drives to, the last stop of its order."""
        return courier.leg == len(self._book.stops[courier.order]) - 1

    def lift(self, courier: Courier) -> None:
        """Put the load of an order on its robot."""
        book, number = self._book, courier.order
        book.change(number, "lift", self._world.clock.time)
        order = book.orders[number]
        top = float(self._table.top[courier.row])
        courier.load = self._loads.lift(courier.row, top, order.id, order.load)
        self._robots.set_loaded(courier.row, True)

    def deliver(self, courier: Courier) -> None:
        """Put the load down at the last stop; the order fails if the robot has no load any more."""
        # Asked first: once it is put down nobody carries it.
        lost = self._loads.carried_by(courier.load) != courier.row
        self.put_down(courier, self._places.points[courier.place])
        now = self._world.clock.time
        if lost:
            self._book.change(courier.order, "fail", now, reason=LOST)
        else:
            self._book.change(courier.order, "deliver", now)

    def abandon(self, courier: Courier, reason: str) -> None:
        """Put the load down where the robot is; its order, unless it was cancelled before, fails."""
        if courier.task is Task.CARRY:
            told = f"{reason}; the load was put down on the way"
            self._book.change(courier.order, "fail", self._world.clock.time, reason=told)
        self.put_down(courier, self._places.spot(self._world.position[courier.row]))

    def put_down(self, courier: Courier, point: Spot) -> None:
        """Put the load of a robot on the floor at `point` in m, if it still has it."""
        if self._loads.carried_by(courier.load) == courier.row:
            self._loads.put_down(courier.load, point)
        courier.load = NO_LOAD
        self._robots.set_loaded(courier.row, False)
