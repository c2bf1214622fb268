"""PodCrew: takes robots with pods through their visits, from storage to a station and back."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.warehouse.orders.fleet import Courier, OrderFleet, Stage, Task
from fleet_sim.warehouse.orders.order import Order, OrderState, RobotState
from fleet_sim.warehouse.orders.places import NO_PLACE, OrderBook, OrderPlaces
from fleet_sim.warehouse.orders.pods import floor as floors
from fleet_sim.warehouse.orders.settings import PodsSettings
from fleet_sim.warehouse.orders.transport import NO_LOAD
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# PodCounter: the orders of items, the workstations where they are picked, and what pods bring for them. An item is
# wanted once its order is at a workstation, promised when a pod is to bring it, and gone when it is picked.
# `pods.py` sends robots for pods, and `PodCrew` takes them through their visits.


class PodCounter(Stateful):
    """Keeps count of lines and items. An order begins at a workstation when the stock has all of it."""

    STATE = (
        "stock",
        "benches",
        "waiting",
        "known",
        "short",
        "lines_done",
        "items_filled",
        "visits",
        "items_of_visits",
        "fills",
    )

    def __init__(
        self, world: World, book: OrderBook, places: OrderPlaces, stock: floors.PodStock, open_orders: int
    ) -> None:
        self._world, self.book, self._stations = world, book, places
        self._open_orders = open_orders
        self.stock = stock
        self.places: list[int] = []
        """The storage places, as the fleet numbers places."""
        self.benches: dict[int, floors.Workbench] = {}
        self.known: dict[int, None] = {}
        """Orders that no workstation has yet, released or not."""
        self.waiting: dict[int, None] = {}
        """Released orders that wait for a workstation."""
        self.short: set[int] = set()
        """Those of them that wait for stock."""
        self.lines_done = 0
        self.items_filled = 0
        self.visits = 0
        """Visits of pods for orders that are over, and the items picked in them."""
        self.items_of_visits = 0
        self.fills = 0
        """Visits in which items were put on pods."""

    # ---- orders ------------------------------------------------------------------------------------------------------

    def lines_of(self, order: Order) -> list[tuple[int, int]]:
        """Return the lines of an order as numbers of skus and items; raises UnknownNameError."""
        return [(self.stock.number(sku), count) for sku, count in order.lines]

    def add(self, number: int) -> None:
        """Know an order that is not released yet."""
        self.known[number] = None

    def release(self, number: int) -> None:
        """Let an order wait for a workstation."""
        self.waiting[number] = None

    def assign(self) -> None:
        """Give waiting orders to workstations, the most urgent ones first, where the stock has all of their items."""
        self.short.clear()
        if not self.waiting:
            return
        available, stock = self.stock.available, self.stock
        for number in self._by_urgency():
            lines = self.lines_of(self.book.orders[number])
            # An order begins only when all of it is there, so that no workstation waits for stock.
            missing = [sku for sku, count in lines if available[sku] < count]
            if missing:
                self.short.add(number)
                self.book.reasons[number] = f"there are not enough items of {stock.skus[missing[0]]!r}"
                continue
            bench = self._bench_for(number)
            if bench is None:
                continue
            for sku, count in lines:
                available[sku] -= count
                stock.wanted[sku] += count
                bench.lines.append(floors.OpenLine(number, sku, count, count))
            bench.orders[number] = None
            del self.waiting[number], self.known[number]
            self.book.stops[number] = (bench.place,)
            self.book.change(number, "assign", self._world.clock.time)

    def _by_urgency(self) -> list[int]:
        numbers = np.fromiter(self.waiting, np.int64, len(self.waiting))
        table = self.book.table
        # Of one priority the one released first, of those the one submitted first.
        urgent: list[int] = numbers[np.lexsort((numbers, table.release[numbers], -table.priority[numbers]))].tolist()
        return urgent

    def _bench_for(self, number: int) -> floors.Workbench | None:
        """Return the open workstation with the fewest orders, of those that may take one more."""
        asked, closed = self.book.orders[number].drop, self._stations.closed
        open_benches = [
            bench
            for bench in self.benches.values()
            if bench.picks
            and len(bench.orders) < self._open_orders
            and bench.place not in closed
            and asked in (None, self._stations.names[bench.place])
        ]
        return min(open_benches, key=lambda bench: len(bench.orders), default=None)

    def cancel(self, number: int, visits: dict[int, floors.PodVisit]) -> None:
        """Forget an order: what was picked stays picked, and pods keep the rest."""
        self.waiting.pop(number, None)
        self.known.pop(number, None)
        self.short.discard(number)
        for bench in self.benches.values():
            for line in bench.drop(number):
                # What no pod has been asked for is not wanted any more.
                self.stock.wanted[line.sku] -= line.unclaimed
        for visit in visits.values():
            for claim in visit.to_serve:
                if claim.order == number:
                    self.stock.break_promise(visit.pod, claim.sku, claim.items, wanted=False)
            visit.claims = [claim for claim in visit.claims if claim.order != number]
            if visit.serving is not None and visit.serving.order == number:
                visit.serving = None

    # ---- what pods bring ---------------------------------------------------------------------------------------------

    def claim_more(self, visit: floors.PodVisit) -> None:
        """Let a pod bring all that it has for the lines at its station."""
        if visit.fills or visit.phase not in floors.COMING:
            return
        claims = self.benches[visit.station].claim(self.stock.free[visit.pod])
        for claim in claims:
            self.stock.promise(visit.pod, claim.sku, claim.items)
        visit.claims += claims

    def station_for(self, visit: floors.PodVisit, visits: Iterable[floors.PodVisit]) -> int:
        """Return the open station that a pod has most items for, the nearest of these; NO_PLACE for none.

        Only stations where one more pod may come count; `visits` are those of all pods.
        """
        coming = Counter(other.station for other in visits if other.phase not in floors.GONE)
        free, best, station = self.stock.free[visit.pod], (0, 0.0), NO_PLACE
        for place, bench in self.benches.items():
            # As many pods may come as have a place to wait there, and one more.
            if place in (visit.station, *self._stations.closed) or coming[place] > len(bench.waits):
                continue
            items = int(np.minimum(free, bench.wanted(len(free))).sum())
            if not items:
                continue
            length = float(self._stations.between(np.array([visit.station]), np.array([place]))[0])
            if np.isfinite(length) and (items, -length) > best:
                best, station = (items, -length), place
        return station

    def claim_room(self, visit: floors.PodVisit, coming: Ints) -> None:
        """Let a pod take as many as it has room for of the items (S,) that come in."""
        room = self.stock.room(visit.pod)
        for sku in np.flatnonzero(coming).tolist():
            count = min(int(coming[sku]), room)
            if count:
                visit.claims.append(floors.PodClaim(floors.NO_ORDER, sku, count))
                room -= count

    def withdraw(self, visit: floors.PodVisit) -> None:
        """Let lines wait for other pods that a pod does not serve any more."""
        for claim in visit.to_serve:
            if claim.order != floors.NO_ORDER:
                self.stock.break_promise(visit.pod, claim.sku, claim.items, wanted=True)
                # Another pod may bring it.
                self.benches[visit.station].line_of(claim).unclaimed += claim.items
        visit.claims, visit.serving = [], None

    def finish(self, visit: floors.PodVisit) -> None:
        """Called when what a pod was served for is done."""
        claim, visit.serving = visit.serving, None
        # Its order was cancelled meanwhile.
        if claim is None:
            return
        visit.picked += claim.items
        if claim.order == floors.NO_ORDER:
            self.stock.put(visit.pod, claim.sku, claim.items)
            self.items_filled += claim.items
            return
        self.stock.pick(visit.pod, claim.sku, claim.items)
        book, now, bench = self.book, self._world.clock.time, self.benches[visit.station]
        # An order that was assigned begins with the first item picked for it.
        if book.state(claim.order) is OrderState.ASSIGNED:
            book.change(claim.order, "begin_lines", now, robot=self._world.label(visit.row))
            book.table.picked[claim.order] = now
        line = bench.line_of(claim)
        line.left -= claim.items
        if line.left == 0:
            self.lines_done += 1
            if not any(other.left for other in bench.lines if other.order == claim.order):
                bench.drop(claim.order)
                book.change(claim.order, "complete", now)

    def count_visit(self, visit: floors.PodVisit) -> None:
        """Count a visit that is over."""
        if visit.fills:
            self.fills += 1
        else:
            self.visits += 1
            self.items_of_visits += visit.picked


log = logging.getLogger(__name__)


class PodCrew(Stateful):
    """A Porter: each robot has one visit at a time. Code runs only when something happens to it."""

    STATE = ("visits", "storage_waits", "went_on")

    def __init__(
        self,
        world: World,
        fleet: OrderFleet,
        places: OrderPlaces,
        shelves: floors.PodShelves,
        storage: floors.PodStorage,
        floor: floors.PodFloor,
        counter: PodCounter,
        choose_place: Callable[[floors.PodVisit], int],
        settings: PodsSettings,
        retry_after: float,
    ) -> None:
        """`choose_place` returns where a pod is to be stored, NOWHERE for nowhere now."""
        self._world, self._fleet, self._places = world, fleet, places
        self._shelves, self._storage, self._floor, self._counter = shelves, storage, floor, counter
        self._choose_place, self._settings, self._retry_after = choose_place, settings, retry_after
        self.visits: dict[int, floors.PodVisit] = {}
        """By row of the robot."""
        self.storage_waits = 0
        """Pods for which there was no place when they left a station."""
        self.went_on = 0
        """How often a pod went on from one station to another."""
        fleet.porter = self

    def begin(self, visit: floors.PodVisit, place: int) -> None:
        """Send a robot that has nothing to do to its pod in `place`."""
        courier = self._fleet.couriers[visit.row]
        self._fleet.leave_stands(courier)
        self.visits[visit.row] = visit
        courier.task, courier.attempts = Task.POD, 0
        self._fleet.drive(courier, place)

    # ---- what a Porter does ------------------------------------------------------------------------------------------

    def check(self, courier: Courier) -> None:
        """Raise InvalidValueError for a robot with a pod that others would not look out for."""
        if not self._floor.traffic.takes_part(self._world.handles[courier.row]):
            raise InvalidValueError("it takes no part in the traffic, and pods stand everywhere else")
        self._floor.widen(courier.row, courier.load != NO_LOAD)

    def arrived(self, courier: Courier) -> None:
        """Go on where the robot was sent to."""
        visit = self.visits[courier.row]
        if visit.phase is floors.PodPhase.FETCH:
            # Somebody else may have moved the pod while the robot was on its way.
            if not self._shelves.is_at(visit.pod, self._places.points[courier.place]):
                self._forget(visit.pod)
                self._fleet.fail(courier, f"pod {self._shelves.names[visit.pod]!r} is not there any more")
                return
            self._stand(courier, visit, floors.PodPhase.LIFT, self._settings.lift_time)
        elif visit.phase is floors.PodPhase.STORE:
            self._stand(courier, visit, floors.PodPhase.LOWER, self._settings.lift_time)
        elif courier.place == visit.station:
            bench = self._counter.benches[visit.station]
            bench.since = self._world.clock.time
            self._stand(courier, visit, floors.PodPhase.BEGIN, self._settings.visit_time)
        else:
            visit.phase = floors.PodPhase.QUEUE
            self._fleet.show(courier, RobotState.WAITING)
            self._overtake(courier, visit)

    def served(self, courier: Courier) -> None:
        """Go on after the robot has stood."""
        visit = self.visits[courier.row]
        if visit.phase is floors.PodPhase.LIFT:
            self._lift(courier, visit)
        elif visit.phase is floors.PodPhase.LOWER:
            self._lower(courier, visit)
        elif not self._has_pod(courier, visit):
            self._lose_pod(courier, visit)
        elif visit.phase is floors.PodPhase.LEAVE:
            self._leave(courier, visit)
        else:
            if visit.phase is floors.PodPhase.SERVE:
                self._counter.finish(visit)
            self._serve(courier, visit)

    def give_up(self, courier: Courier, reason: str) -> None:
        """End a visit before its time. A pod that is on the robot stays where that is."""
        visit = self.visits.pop(courier.row)
        self._counter.withdraw(visit)
        self._free_station(visit.row, visit.station)
        if courier.load != NO_LOAD:
            log.warning("pod %r is left where it is: %s", self._shelves.names[visit.pod], reason)
            self._shelves.leave(visit.pod, courier.row)
            self._fleet.set_loaded(courier, NO_LOAD)
            self._forget(visit.pod)

    def _forget(self, pod: int) -> None:
        """Do without a pod that is not where it should be; others keep off it."""
        self._storage.leave(pod)
        self._counter.stock.remove(pod)
        point = self._shelves.point_of(pod)
        if point is not None:
            self._floor.strand(pod, point)
        self._floor.look()

    def removed(self, pod: int) -> None:
        """Called when a pod is being removed; a robot that has it, or is on its way to it, does something else."""
        for visit in list(self.visits.values()):
            if visit.pod == pod:
                courier = self._fleet.couriers[visit.row]
                self.give_up(courier, "it was removed")
                self._floor.widen(courier.row, False)
                self._fleet.release(courier)
        if pod in self._floor.stranded:
            self._floor.clear_away(pod)
            return
        self._storage.leave(pod)
        self._counter.stock.remove(pod)
        self._floor.look()

    # ---- stations ----------------------------------------------------------------------------------------------------

    def _approach(self, courier: Courier, visit: floors.PodVisit) -> None:
        visit.phase = floors.PodPhase.CARRY
        self._fleet.drive(courier, self._counter.benches[visit.station].enter(courier.row))

    def _overtake(self, courier: Courier, visit: floors.PodVisit) -> None:
        """Let a robot that waits go first if the one that would has farther to go."""
        bench = self._counter.benches[visit.station]
        owner = self._fleet.couriers.get(bench.owner)
        if owner is None or self.visits[owner.row].phase is not floors.PodPhase.CARRY:
            return
        first = self._nearest(bench, [bench.owner, courier.row])
        if first == courier.row:
            bench.queue[owner.row] = bench.queue.pop(courier.row)
            bench.owner = courier.row
            self._fleet.drive(owner, bench.queue[owner.row])
            visit.phase = floors.PodPhase.CARRY
            self._fleet.drive(courier, bench.place)

    def _nearest(self, bench: floors.Workbench, rows: list[int]) -> int:
        lengths = self._places.lengths_from(self._world.position[rows], [bench.place])[:, 0]
        return rows[int(lengths.argmin())]

    def _free_station(self, leaving: int, station: int) -> None:
        """Let the next pod come to the station that the robot in row `leaving` leaves, or does not get to."""
        bench = self._counter.benches[station]
        was_owner = bench.owner == leaving
        bench.leave(leaving)
        if was_owner and bench.since >= 0.0:
            bench.busy += self._world.clock.time - bench.since
            bench.since = -1.0
        if bench.owner == floors.NOBODY and bench.queue:
            # Robots that are out of energy do not come; one of them is next only where all are.
            able = [row for row in bench.queue if self._fleet.couriers[row].stage is not Stage.OUT]
            row = self._nearest(bench, able or list(bench.queue))
            bench.queue.pop(row)
            bench.owner = row
            self.visits[row].phase = floors.PodPhase.CARRY
            self._fleet.drive(self._fleet.couriers[row], bench.place)

    def _serve(self, courier: Courier, visit: floors.PodVisit) -> None:
        self._counter.claim_more(visit)
        if visit.claims:
            visit.phase, visit.serving = floors.PodPhase.SERVE, visit.claims.pop(0)
            self._fleet.work(courier, self._settings.item_time * visit.serving.items)
        elif not self._go_on(courier, visit):
            self._leave(courier, visit)

    def _go_on(self, courier: Courier, visit: floors.PodVisit) -> bool:
        """Take a pod on to a station that needs what is on it; returns whether there is one."""
        if not self._settings.go_on or visit.fills or self._fleet.charging.wants(courier.row):
            return False
        station = self._counter.station_for(visit, self.visits.values())
        if station == NO_PLACE:
            return False
        # The new station first, as its lines are claimed. The old one is freed last, and its next pod may come.
        left, visit.station = visit.station, station
        self._counter.claim_more(visit)
        self.went_on += 1
        self._approach(courier, visit)
        self._free_station(courier.row, left)
        return True

    def _leave(self, courier: Courier, visit: floors.PodVisit) -> None:
        """Take the pod to a storage place; where none is free the robot stays and asks again later."""
        place = self._choose_place(visit)
        if place == floors.NOWHERE:
            # Counted once for each wait, not for each try.
            self.storage_waits += visit.phase is not floors.PodPhase.LEAVE
            visit.phase = floors.PodPhase.LEAVE
            self._fleet.work(courier, self._retry_after, RobotState.WAITING)
            return
        # A pod may go back to its own place, which it has kept.
        if self._storage.owner[place] != visit.pod:
            self._storage.leave(visit.pod)
            self._storage.take(place, visit.pod)
        visit.target, visit.phase = place, floors.PodPhase.STORE
        self._floor.look()
        self._fleet.drive(courier, self._counter.places[place])
        self._free_station(courier.row, visit.station)

    # ---- pods --------------------------------------------------------------------------------------------------------

    def _stand(self, courier: Courier, visit: floors.PodVisit, phase: floors.PodPhase, seconds: float) -> None:
        visit.phase = phase
        self._fleet.stand(courier)
        self._fleet.work(courier, seconds)

    def _lift(self, courier: Courier, visit: floors.PodVisit) -> None:
        """Lift the pod and go on to its workstation; where it cannot be lifted the robot gives the visit up."""
        try:
            self._floor.widen(courier.row, True)
            self._shelves.raise_onto(visit.pod, courier.row)
        except FleetSimError as error:
            log.warning("pod %r stays: %s", self._shelves.names[visit.pod], error)
            self.give_up(courier, str(error))
            self._floor.widen(courier.row, False)
            self._fleet.release(courier)
            return
        self._fleet.set_loaded(courier, self._shelves.id_of(visit.pod))
        self._approach(courier, visit)

    def _lower(self, courier: Courier, visit: floors.PodVisit) -> None:
        if not self._has_pod(courier, visit):
            self._lose_pod(courier, visit)
            return
        self._shelves.lower(visit.pod, courier.row, self._storage.points[visit.target].tolist())
        self._end(courier, visit)
        self._counter.count_visit(visit)

    def _end(self, courier: Courier, visit: floors.PodVisit) -> None:
        del self.visits[courier.row]
        self._fleet.set_loaded(courier, NO_LOAD)
        self._floor.widen(courier.row, False)
        self._floor.look()
        self._fleet.release(courier)

    def _has_pod(self, courier: Courier, visit: floors.PodVisit) -> bool:
        return self._shelves.carried_by(visit.pod) == courier.row

    def _lose_pod(self, courier: Courier, visit: floors.PodVisit) -> None:
        """Called when the pod was taken off its robot."""
        self.give_up(courier, "it was taken from its robot")
        self._floor.widen(courier.row, False)
        self._fleet.release(courier)
