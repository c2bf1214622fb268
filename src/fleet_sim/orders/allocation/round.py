"""Rounds: asks the allocator who serves what, and checks its answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.orders.allocation.allocators import Allocator, Assignment, Request, check
from fleet_sim.orders.book import OrderParts
from fleet_sim.orders.courier import Courier, Stage, Task
from fleet_sim.orders.fleet import OrderFleet
from fleet_sim.orders.settings import AllocationSettings

NOWHERE = -1


class Rounds:
    """Gives waiting orders to robots. What an allocator raises, or answers wrongly, is logged once and counted."""

    def __init__(
        self, parts: OrderParts, fleet: OrderFleet, allocator: Allocator, settings: AllocationSettings
    ) -> None:
        self._world, self._table, self._book, self._places = parts
        self._fleet, self._allocator, self._settings = fleet, allocator, settings
        self._part = parts.world.guard.part("allocator")

    def run(self) -> int:
        """Assign what can be assigned now; returns how many orders that were."""
        couriers = [courier for courier in self._fleet.couriers.values() if self._room(courier) > 0]
        if not couriers:
            return 0
        orders = self._open_orders()
        if not len(orders):
            return 0
        request = self._request(couriers, orders)
        # Before the allocator is asked: it may leave them out without a word.
        self._explain(request)
        answer = self._part.call(self._answer, request) or []
        for robot, order, position in answer:
            self._fleet.assign(couriers[robot].row, int(orders[order]), position)
        return len(answer)

    def _answer(self, request: Request) -> list[Assignment]:
        # Together, so that a wrong answer counts as a fault of the allocator, as an exception does.
        return check(request, self._allocator.allocate(request))

    def _room(self, courier: Courier) -> int:
        """Return how many more orders a robot may have."""
        if courier.stage in (Stage.RESTING, Stage.OUT) or courier.task in (Task.CHARGE, Task.RETURN, Task.POD):
            return 0
        if courier.task is Task.NONE and self._world.actions.queued(courier.row):
            # Somebody else has it do something.
            return 0
        # Orders on its plan, and the one it is at.
        return self._settings.queue - len(courier.plan) - (courier.task in (Task.FETCH, Task.CARRY))

    def _open_orders(self) -> Ints:
        """Return the waiting orders to look at, the most urgent first; with a closed station they go on waiting."""
        book, closed = self._book, self._places.closed
        urgent = book.by_urgency()
        if closed:
            names = self._places.names
            held = {order: closed.intersection(book.stops[order]) for order in urgent.tolist()}
            for order, stations in held.items():
                if stations:
                    # Any of them will do; the smallest is the same one in each run.
                    book.reasons[order] = f"station {names[min(stations)]} is closed"
            urgent = np.array([order for order, stations in held.items() if not stations], np.int64)
        # The most urgent ones only: an allocator's time grows with their number.
        return urgent[: self._settings.consider]

    def _request(self, couriers: list[Courier], orders: Ints) -> Request:
        """Return what an allocator decides on: the robots, the orders, and the costs (R, N) of each for each."""
        book, places, world = self._book, self._places, self._world
        rows = np.array([courier.row for courier in couriers], np.int64)
        begins = book.table.pick[orders]
        ends = np.array([book.stops[order][-1] for order in orders.tolist()], np.int64)
        now = world.clock.time
        busy = [self._ahead(courier) for courier in couriers]
        costs = self._until_pick(couriers, busy, begins)
        # The longer an order waits the cheaper it gets, so that none far from all robots waits for ever.
        costs -= self._settings.waiting_weight * (now - book.table.release[orders])
        # Too heavy: no pair.
        costs[book.table.load[orders] > self._table.max_load[rows][:, None]] = np.inf
        return Request(
            rows=rows,
            orders=orders,
            costs=costs,
            free=np.array([self._room(courier) for courier in couriers], np.int64),
            plans=[[(book.stops[o][0], book.stops[o][-1]) for o in courier.plan] for courier in couriers],
            begins=begins,
            ends=ends,
            lengths=book.lengths_of(orders, places.length_of),
            left=np.array([length for _, length in busy]),
            reach=lambda robot, goals: self._way(couriers[robot], busy[robot][0], goals),
            between=places.between,
            priority=book.table.priority[orders],
            release=book.table.release[orders],
            due=book.table.due[orders],
            now=now,
        )

    def _until_pick(self, couriers: list[Courier], busy: list[tuple[int, float]], begins: Ints) -> Floats:
        """Return how many m (R, O) each robot drives until it is at `begins`; what it has to do already comes first."""
        rows = np.array([courier.row for courier in couriers], np.int64)
        lengths = self._places.lengths_from(self._world.position[rows], begins)
        # What it has to do comes before: from its last stop it goes on.
        for index, (courier, (place, left)) in enumerate(zip(couriers, busy, strict=True)):
            for order in courier.plan:
                stops = self._book.stops[order]
                left += float(self._way(courier, place, stops[:1])[0]) + self._places.length_of(stops)
                place = stops[-1]
            if place != NOWHERE:
                lengths[index] = left + self._way(courier, place, begins)
        return lengths

    def _way(self, courier: Courier, place: int, goals: Sequence[int] | Ints) -> Floats:
        """Return the lengths (K,) of the ways from `place`, or from where the robot is, to the places `goals`."""
        ends = np.asarray(goals, np.int64)
        if place != NOWHERE:
            return self._places.between(np.full(len(ends), place), ends)
        return self._places.lengths_from(self._world.position[[courier.row]], ends)[0]

    def _ahead(self, courier: Courier) -> tuple[int, float]:
        """Return where a robot will have done what it does, and how many m it drives until then."""
        if courier.task not in (Task.FETCH, Task.CARRY):
            return NOWHERE, 0.0
        stops = self._book.stops[courier.order][courier.leg :]
        here = self._world.position[[courier.row]]
        left = float(self._places.lengths_from(here, stops[:1])[0, 0]) + self._places.length_of(stops)
        # It is at work even where it has arrived: 0 would mean that it has nothing to do.
        return stops[-1], max(left, 1e-9)

    def _explain(self, request: Request) -> None:
        """Let orders say why they wait that none of the robots at hand can serve."""
        book = self._book
        for index in np.flatnonzero(~np.isfinite(request.costs).any(axis=0)).tolist():
            order, load = int(request.orders[index]), float(book.table.load[request.orders[index]])
            if load > self._table.max_load[request.rows].max():
                book.reasons[order] = f"no robot that is free takes {load:g} kg"
            else:
                book.reasons[order] = f"no robot that is free gets to {self._places.names[request.begins[index]]}"
