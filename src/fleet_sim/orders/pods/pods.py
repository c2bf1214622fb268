"""Pods: goods to person in one simulation, as Orders uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.errors import InvalidValueError
from fleet_sim.orders.book import OrderParts
from fleet_sim.orders.fleet import OrderFleet
from fleet_sim.orders.order import Order
from fleet_sim.orders.pods.benches import Workbench
from fleet_sim.orders.pods.counter import PodCounter
from fleet_sim.orders.pods.crew import PodCrew
from fleet_sim.orders.pods.floor import PodFloor
from fleet_sim.orders.pods.rounds import PodPolicies, PodRounds
from fleet_sim.orders.pods.settings import PodsSettings
from fleet_sim.orders.pods.shelves import PodShelves
from fleet_sim.orders.pods.storage import PodStorage, place_pods
from fleet_sim.sites.stations import StationKind
from fleet_sim.traffic.traffic import Traffic

_KINDS = {kind.value: kind for kind in StationKind}


class Pods:
    """The pods of a simulation, their stock, and the workstations they are carried to."""

    def __init__(
        self,
        parts: OrderParts,
        fleet: OrderFleet,
        traffic: Callable[[], Traffic | None],
        settings: PodsSettings,
        period: float,
        retry_after: float,
    ) -> None:
        """Put the pods into the world; raises what `place_pods` does, and for policies and stations that are not."""
        self._world, _, self._book, self._places = world, table, book, places = parts
        self._settings, self._period = settings, period
        policies = PodPolicies.of(settings)
        self.storage = storage = PodStorage(places.site, settings.storage)
        placed = place_pods(settings, storage, places.site.grid, world.random.stream("pods"))
        self.stock = placed.stock
        self.counter = counter = PodCounter(world, book, places, placed.stock, settings.open_orders)
        counter.benches = self._benches()
        counter.places = [places.number((x, y)) for x, y in storage.points.tolist()]
        # Last of what may be refused: pods are bodies from now on.
        self.shelves = PodShelves(world, settings, placed.names, storage.points[placed.places])
        self.floor = PodFloor(world, table, traffic, storage, self.shelves, settings.legs)
        self._rounds = PodRounds(world, table, places, fleet, storage, self.floor, counter, policies, settings.mass)
        self.crew = PodCrew(
            *(world, fleet, places, self.shelves, storage, self.floor, counter),
            self._rounds.choose_place,
            settings,
            retry_after,
        )
        self.refused_for_stock = 0
        """Orders that ask for more than there is, or ever can be."""
        self._begun = False
        self._due = 0

    def _benches(self) -> dict[int, Workbench]:
        """Return the stations where orders are picked, and those where items come in; raises InvalidValueError."""
        places = self._places
        picks = places.of_kind(StationKind.WORKSTATION)
        if not picks:
            raise InvalidValueError("pods are carried to workstations; the site has no station of that kind")
        fills = []
        for name in self._settings.goods_in:
            fills += places.of_kind(_KINDS[name]) if name in _KINDS else [places.number(name)]
        benches = {place: Workbench(place, picks=True) for place in picks}
        # Without places of their own, items come in where orders are picked.
        for place in fills or picks:
            benches.setdefault(place, Workbench(place, picks=False)).fills = True
        return benches

    # ---- orders ------------------------------------------------------------------------------------------------------

    def check(self, order: Order) -> None:
        """Raise UnknownNameError for an unknown sku or station, InvalidValueError for more than there ever can be."""
        room = self.stock.capacity * len(self.shelves)
        never = self._rounds.never_orders
        for sku, count in order.lines:
            # Only what is on pods can be promised if nothing more is ever ordered.
            number = self.stock.number(sku)
            most = int(self.stock.available[number]) - self._promised_to_waiting(number) if never else room
            if count > most:
                self.refused_for_stock += 1
                what = "are left, and none are ordered" if never else "fit on all pods together"
                raise InvalidValueError(f"{count} items of {sku!r} are asked for, {max(most, 0)} {what}")
        if order.drop is not None:
            bench = self.counter.benches.get(self._places.number(order.drop))
            if bench is None or not bench.picks:
                raise InvalidValueError(
                    f"station {order.drop!r} is not a workstation; orders of lines are picked at one"
                )

    def _promised_to_waiting(self, sku: int) -> int:
        lines = (self.counter.lines_of(self._book.orders[number]) for number in self.counter.known)
        return sum(count for order in lines for number, count in order if number == sku)

    def release(self, number: int) -> None:
        """Let an order of lines wait for a workstation."""
        self.counter.release(number)

    def cancel(self, number: int, reason: str) -> None:
        """Cancel an order of lines; what was picked for it stays picked. Raises StateError for one that has ended."""
        self._book.change(number, "cancel", self._world.clock.time, reason=reason)
        self.counter.cancel(number, self.crew.visits)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Send robots for pods, if it is time to; raises where pods cannot be carried at all."""
        tick = self._world.clock.tick
        if tick < self._due:
            return
        # Rounds are not made in each step, as policies may take long.
        self._due = tick + max(self._world.clock.ticks(self._period), 1)
        if not self._begun and not self._begin():
            return
        self.floor.look()
        self._rounds.run(self.crew)

    def _begin(self) -> bool:
        """Lay out the places to wait once there is a traffic; return whether that is done."""
        benches = list(self.counter.benches.values())
        points = [np.array(self._places.points[bench.place]) for bench in benches]
        waits = self.floor.begin(points, self._settings.queue)
        if waits is None:
            return False
        # Places to wait are known once the traffic is there.
        for bench, spots in zip(benches, waits, strict=True):
            bench.waits = tuple(self._places.number(spot) for spot in spots)
        self._begun = True
        return True

    def removed(self, rows: Rows) -> None:
        """Hear that entities are about to be removed."""
        for pod in self.shelves.pods_in(rows):
            self.crew.removed(pod)

    # ---- figures -----------------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        """Return lines, items, visits and stations as nested mappings of numbers; see docs/orders.md for the keys."""
        counter, stock, now = self.counter, self.stock, self._world.clock.time
        picking = [bench for bench in counter.benches.values() if bench.picks]
        busy = [bench.busy + (now - bench.since if bench.since >= 0.0 else 0.0) for bench in picking]
        # The service at hand counts up to now.
        idle = {self._places.names[b.place]: max(now - time, 0.0) for b, time in zip(picking, busy, strict=True)}
        return {
            "pods": len(self.shelves),
            "lines_done": counter.lines_done,
            "items_picked": int(stock.picked.sum()),
            "items_filled": counter.items_filled,
            "visits": counter.visits,
            "went_on": self.crew.went_on,
            "fills": counter.fills,
            "items_per_visit": counter.items_of_visits / counter.visits if counter.visits else None,
            "station_idle_s": idle,
            "station_idle_share": sum(idle.values()) / (now * len(idle)) if now > 0.0 else None,
            "orders_short": len(counter.short),
            "refused_for_stock": self.refused_for_stock,
            "storage_waits": self.crew.storage_waits,
            "stranded": len(self.floor.stranded),
            "stock": {
                "on_pods": int(stock.held.sum()),
                "coming": int(stock.coming.sum()),
                "picked": int(stock.picked.sum()),
                "gone": int(stock.gone.sum()),
                "supplied": int(stock.supplied.sum()),
            },
        }

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        stranded = {pod: list(nodes) for pod, nodes in self.floor.stranded.items()}
        when = (self._begun, self._due, self.refused_for_stock)
        return self.storage.save(), self.counter.save(), self.crew.save(), stranded, when

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        storage, counter, crew, stranded, (self._begun, self._due, self.refused_for_stock) = saved
        self.storage.restore(storage)
        self.counter.restore(counter)
        self.crew.restore(crew)
        self.floor.restore(stranded, begun=self._begun)
