"""PodCounter: the orders of items, the workstations where they are picked, and what pods bring for them.

An item is wanted once its order is at a workstation, promised when a pod is to bring it, and gone when it is picked.
`rounds.py` sends robots for pods, and `crew.py` takes them through their visits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.core.world import World
from fleet_sim.orders.book import OrderBook
from fleet_sim.orders.courier import NO_PLACE
from fleet_sim.orders.order import Order
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.pods.benches import OpenLine, Workbench
from fleet_sim.orders.pods.stock import PodStock
from fleet_sim.orders.pods.visit import COMING, GONE, NO_ORDER, PodClaim, PodVisit
from fleet_sim.orders.states import OrderState


class PodCounter:
    """Keeps count of lines and items. An order begins at a workstation when the stock has all of it."""

    def __init__(self, world: World, book: OrderBook, places: OrderPlaces, stock: PodStock, open_orders: int) -> None:
        self._world, self.book, self._stations = world, book, places
        self._open_orders = open_orders
        self.stock = stock
        self.places: list[int] = []
        """The storage places, as the fleet numbers places."""
        self.benches: dict[int, Workbench] = {}
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
                bench.lines.append(OpenLine(number, sku, count, count))
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

    def _bench_for(self, number: int) -> Workbench | None:
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

    def cancel(self, number: int, visits: dict[int, PodVisit]) -> None:
        """Forget an order: what was picked stays picked, and pods keep the rest."""
        self.waiting.pop(number, None)
        self.known.pop(number, None)
        self.short.discard(number)
        for bench in self.benches.values():
            for line in bench.drop(number):
                # What no pod has been asked for is not wanted any more.
                self.stock.wanted[line.sku] -= line.unclaimed
        for visit in visits.values():
            for claim in [*visit.claims, *([visit.serving] if visit.serving else [])]:
                if claim.order == number:
                    self.stock.break_promise(visit.pod, claim.sku, claim.items, wanted=False)
            visit.claims = [claim for claim in visit.claims if claim.order != number]
            if visit.serving is not None and visit.serving.order == number:
                visit.serving = None

    # ---- what pods bring ---------------------------------------------------------------------------------------------

    def claim_more(self, visit: PodVisit) -> None:
        """Let a pod bring all that it has for the lines at its station."""
        if visit.fills or visit.phase not in COMING:
            return
        claims = self.benches[visit.station].claim(self.stock.free[visit.pod])
        for claim in claims:
            self.stock.promise(visit.pod, claim.sku, claim.items)
        visit.claims += claims

    def station_for(self, visit: PodVisit, visits: Iterable[PodVisit]) -> int:
        """Return the open station that a pod has most items for, the nearest of these; NO_PLACE for none.

        Only stations where one more pod may come count; `visits` are those of all pods.
        """
        coming = Counter(other.station for other in visits if other.phase not in GONE)
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

    def claim_room(self, visit: PodVisit, coming: Ints) -> None:
        """Let a pod take as many as it has room for of the items (S,) that come in."""
        room = self.stock.room(visit.pod)
        for sku in np.flatnonzero(coming).tolist():
            count = min(int(coming[sku]), room)
            if count:
                visit.claims.append(PodClaim(NO_ORDER, sku, count))
                room -= count

    def withdraw(self, visit: PodVisit) -> None:
        """Let lines wait for other pods that a pod does not serve any more."""
        for claim in [*([visit.serving] if visit.serving else []), *visit.claims]:
            if claim.order != NO_ORDER:
                self.stock.break_promise(visit.pod, claim.sku, claim.items, wanted=True)
                # Another pod may bring it.
                self.benches[visit.station].line_of(claim).unclaimed += claim.items
        visit.claims, visit.serving = [], None

    def finish(self, visit: PodVisit) -> None:
        """Hear that what a pod was served for is done."""
        claim, visit.serving = visit.serving, None
        # Its order was cancelled meanwhile.
        if claim is None:
            return
        visit.picked += claim.items
        if claim.order == NO_ORDER:
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

    def count_visit(self, visit: PodVisit) -> None:
        """Count a visit that is over."""
        if visit.fills:
            self.fills += 1
        else:
            self.visits += 1
            self.items_of_visits += visit.picked

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        benches = {place: bench.copy() for place, bench in self.benches.items()}
        counts = (self.lines_done, self.items_filled, self.visits, self.items_of_visits, self.fills)
        return self.stock.save(), benches, dict(self.waiting), dict(self.known), set(self.short), counts

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        stock, benches, waiting, known, short, counts = saved
        self.stock.restore(stock)
        # The benches themselves stay: others hold them.
        for place, bench in benches.items():
            self.benches[place].take_over(bench)
        self.waiting, self.known, self.short = dict(waiting), dict(known), set(short)
        self.lines_done, self.items_filled, self.visits, self.items_of_visits, self.fills = counts
