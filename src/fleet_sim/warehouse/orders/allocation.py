"""Allocators: who serves what. The protocol, what they are asked, and those that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.warehouse.orders.fleet import Courier, OrderFleet, Stage, Task
from fleet_sim.warehouse.orders.places import OrderParts
from fleet_sim.warehouse.orders.settings import AllocationSettings
from fleet_sim.world.conditions import conditions_of

AT_THE_END = -1


class Assignment(NamedTuple):
    """`robot` and `order` are indices into a Request; `position` is the order's place in the robot's plan."""

    robot: int
    order: int
    position: int = AT_THE_END


@dataclass(frozen=True, eq=False)
class Request:
    """Who could serve what, R robots and O orders that wait, the most urgent ones first.

    `costs` (R, O) are the metres that a robot drives until it has the load, with all it has to do before, less what the
    order has earned by waiting; inf where it cannot serve it. `free` (R,) says how many orders a robot may still take.
    `plans` are the orders that a robot has already and has not begun, as (first, last) places. `begins` and `ends`
    (O,) are the first and last places of the orders, `lengths` (O,) in m their ways. `left` (R,) is about how many m a
    robot drives until it has done what it does now, 0 for one that does nothing, and `reach(robot, places)` returns
    the lengths (K,) of the ways from where it is then. `between(begins, ends)` returns those (K,) between places.
    `priority`, `release` and `due` (O,), `now` in s.
    """

    rows: Rows
    orders: Ints
    costs: Floats
    free: Ints
    plans: Sequence[Sequence[tuple[int, int]]]
    begins: Ints
    ends: Ints
    lengths: Floats
    left: Floats
    reach: Callable[[int, Ints], Floats]
    between: Callable[[Ints, Ints], Floats]
    priority: Ints
    release: Floats
    due: Floats
    now: float


@runtime_checkable
class Allocator(Protocol):
    """Decides who serves what. Made once per simulation; the same requests in the same order have the same answers."""

    def allocate(self, request: Request) -> Sequence[Assignment]:
        """Return the assignments to make now; orders that are in none go on waiting."""


def check(request: Request, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Return `assignments` as checked ones; raises InvalidValueError for the first that is impossible."""
    free = request.free.copy()
    given: set[int] = set()
    checked = []
    for item in assignments:
        # Users' allocators may answer plain tuples, and NumPy's numbers in them.
        robot, order, position = Assignment(*(int(number) for number in item))
        if not (0 <= robot < len(request.rows) and 0 <= order < len(request.orders)):
            raise InvalidValueError(
                f"robot {robot}, order {order}: there are {len(request.rows)} robots and {len(request.orders)} orders"
            )
        if order in given:
            raise InvalidValueError(f"order {order} is given to two robots")
        if request.costs[robot, order] == float("inf"):
            raise InvalidValueError(f"robot {robot} cannot serve order {order}: costs[{robot}, {order}] is inf")
        if free[robot] <= 0:
            raise InvalidValueError(f"robot {robot} may take {request.free[robot]} orders, it is given more")
        given.add(order)
        free[robot] -= 1
        checked.append(Assignment(robot, order, position))
    return checked


class NearestFirst:
    """Serves orders in the order of their urgency: no order is overtaken by one that is nearer to a robot.

    With a `queue` of more than one, a robot that ends near to an order gets it before an idle one that is far away.
    """

    def allocate(self, request: Request) -> list[Assignment]:
        """Return a robot for each order, as long as there are any; each gets one at most."""
        costs = np.where((request.free > 0)[:, None], request.costs, np.inf)
        found = []
        for order in range(costs.shape[1]):
            robot = int(costs[:, order].argmin())
            if costs[robot, order] < np.inf:
                found.append(Assignment(robot, order))
                costs[robot] = np.inf
                if len(found) == len(costs):
                    break
        return found


class Hungarian:
    """Minimises the sum of the costs of all assignments made at once; larger priorities go first.

    Among orders of one priority those near to robots are preferred where there are more orders than robots; what an
    order earns by waiting (`waiting_weight`) keeps it from waiting for ever. Raises MissingDependencyError without
    SciPy.
    """

    def __init__(self) -> None:
        with of_extra("scipy", "orders", "the allocator 'hungarian'"):
            from scipy.optimize import linear_sum_assignment
        self._solve = linear_sum_assignment

    def allocate(self, request: Request) -> list[Assignment]:
        """Return at most one order for each robot that may take one."""
        left = np.flatnonzero(request.free > 0)
        found: list[Assignment] = []
        for priority in sorted(set(request.priority.tolist()), reverse=True):
            orders = np.flatnonzero(request.priority == priority)
            robots, chosen = self._assign(request.costs[np.ix_(left, orders)])
            found += [Assignment(int(left[r]), int(orders[o])) for r, o in zip(robots, chosen, strict=True)]
            # Who has an order of a higher priority takes no part in the rounds below it.
            left = np.delete(left, robots)
        return found

    def _assign(self, costs: Floats) -> tuple[list[int], list[int]]:
        """Return robots and orders that belong together, of all that can."""
        possible = np.isfinite(costs)
        if not possible.any():
            return [], []
        # What is impossible costs more than any set of possible ones, so that as many as can are served.
        low, high = costs[possible].min(), costs[possible].max()
        dear = (high - low + 1.0) * (min(costs.shape) + 1)
        # Shifted to begin at 0: orders that have waited long have negative costs, and the bound above holds for
        # positive ones.
        robots, orders = self._solve(np.where(possible, costs - low, dear))
        kept = possible[robots, orders]
        return robots[kept].tolist(), orders[kept].tolist()


NONE: Ints = np.empty(0, np.int64)


class Auction:
    """Sells orders one by one, the most urgent first. A bid is by how many metres the robot's way gets longer.

    Robots may have several orders waiting (`queue` of the allocation); a new one is inserted where it lengthens the
    way least. What the robot is doing now is finished first, and counts in its bid.
    """

    def allocate(self, request: Request) -> list[Assignment]:
        """Return the sales, with the places in the plans."""
        plans = [list(plan) for plan in request.plans]
        free, sold = request.free.copy(), []
        for order in range(len(request.orders)):
            can_mask = (free > 0) & np.isfinite(request.costs[:, order])
            idle_mask = can_mask & (request.left <= 0.0) & np.array([not plan for plan in plans], bool)
            best, winner, place = self._best_of_idle(request, order, np.flatnonzero(idle_mask))
            for robot in np.flatnonzero(can_mask & ~idle_mask).tolist():
                bids = self._bids(request, robot, order, plans[robot])
                at = int(bids.argmin())
                if bids[at] < best:
                    best, winner, place = float(bids[at]), robot, at
            if winner >= 0:
                plans[winner].insert(place, (int(request.begins[order]), int(request.ends[order])))
                free[winner] -= 1
                sold.append(Assignment(winner, order, place))
        return sold

    def _best_of_idle(self, request: Request, order: int, robots: Rows) -> tuple[float, int, int]:
        """Return the best bid of `robots` that have nothing to do, with its robot and place: all in one look-up."""
        if not len(robots):
            return np.inf, -1, 0
        costs = request.costs[robots, order]
        winner = int(robots[costs.argmin()])
        # Costs are less by what the order has earned by waiting, which bids of others do not count.
        return float(request.reach(winner, request.begins[[order]])[0]), winner, 0

    def _bids(self, request: Request, robot: int, order: int, plan: list[tuple[int, int]]) -> Floats:
        """Return by how much (len(plan) + 1,) the way of `robot` gets longer with `order` at each place in its plan."""
        begin, end = int(request.begins[order]), int(request.ends[order])
        first = request.reach(robot, np.array([begin, *(start for start, _ in plan[:1])]))
        starts, stops = (np.array(ends, np.int64) for ends in zip(*plan, strict=True)) if plan else (NONE, NONE)
        to_pick = np.append(first[0], request.between(stops, np.full(len(stops), begin)))
        onward = request.between(np.full(len(starts), end), starts)
        skipped = np.append(first[1:], request.between(stops[:-1], starts[1:]))
        longer = to_pick.copy()
        with np.errstate(invalid="ignore"):
            longer[:-1] += onward - skipped
        # Where no way leads, infinite less infinite is not a number, and the least of such costs would be that place.
        longer[np.isnan(longer)] = np.inf
        # All that comes before is waited for.
        return np.asarray(longer + request.left[robot] + np.append(0.0, np.cumsum(skipped)))


AllocatorMaker = Callable[..., Allocator]
"""A class, or a function, that makes an allocator from its settings."""

ALLOCATORS: Registry[AllocatorMaker] = Registry(
    "allocator",
    Fit("a class with a method allocate(request)", callable),
    group="fleet_sim.allocator",
    built_in={"nearest": NearestFirst, "hungarian": Hungarian, "auction": Auction},
)
"""Allocators by name; `find` also takes dotted paths."""


def make_allocator(name: str, settings: Mapping[str, Any]) -> Allocator:
    """Return the allocator `name`, or at the dotted path `name`, made with `settings`.

    Raises UnknownNameError, InvalidValueError, and MissingDependencyError where it needs what is not installed.
    """
    allocator = ALLOCATORS.make(name, settings)
    if not isinstance(allocator, Allocator):
        raise InvalidValueError(f"allocator {name!r} makes {allocator!r}, which has no method allocate(request)")
    return allocator


# Rounds: asks the allocator who serves what, and checks its answer.


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
        conditions = conditions_of(self._world)
        if conditions is not None:
            couriers = [courier for courier in couriers if not conditions.halted[courier.row]]
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
        if self._fleet.admitted:
            urgent = self._admitted(urgent)
        # The most urgent ones only: an allocator's time grows with their number.
        return urgent[: self._settings.consider]

    def _admitted(self, urgent: Ints) -> Ints:
        """Return those of `urgent` orders that their stations admit beside the orders under way, the first ones first.

        The others wait for a robot, not with one.
        """
        book, left = self._book, dict(self._fleet.admitted)
        couriers = self._fleet.couriers.values()
        for order in [order for courier in couriers for order in (courier.order, *courier.plan) if order >= 0]:
            for stop in left.keys() & book.stops[order]:
                left[stop] -= 1
        found = []
        for order in urgent.tolist():
            limited = left.keys() & book.stops[order]
            full = [stop for stop in limited if left[stop] <= 0]
            if full:
                book.reasons[order] = f"station {self._places.names[min(full)]} has as many orders as it admits"
                continue
            found.append(order)
            for stop in limited:
                left[stop] -= 1
        return np.array(found, np.int64)

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
