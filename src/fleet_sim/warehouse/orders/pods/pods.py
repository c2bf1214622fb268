"""Pods: goods to person in one simulation, as Orders uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows, as_float
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.warehouse.orders.fleet import Courier, OrderFleet
from fleet_sim.warehouse.orders.order import Order
from fleet_sim.warehouse.orders.places import OrderParts
from fleet_sim.warehouse.orders.pods import floor as floors
from fleet_sim.warehouse.orders.pods.crew import PodCounter, PodCrew
from fleet_sim.warehouse.orders.settings import PodsSettings, PolicySettings
from fleet_sim.warehouse.sites.site import StationKind
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.state_files import Stateful

# Which pod serves, where it is stored again, and when stock is ordered.


@dataclass(frozen=True, eq=False)
class PodRequest:
    """The pods (P,) that could serve a workstation now: each has items that it needs, and can be fetched.

    `lengths` (P,) in m are the ways from pods to the workstation, `lines` (P,) how many lines of its orders each pod
    serves at least in part, `items` (P,) how many items of them. `pods` (P,) are their numbers, `held` (P, S) the items
    on them by sku that nobody else needs, and `wanted` (S,) those that the workstation needs. `now` in s.
    """

    pods: Ints
    lengths: Floats
    lines: Ints
    items: Ints
    held: Ints
    wanted: Ints
    now: float


@runtime_checkable
class PodChoice(Protocol):
    """Decides which pod is fetched next. The same requests in the same order have the same answers."""

    def choose(self, request: PodRequest) -> int:
        """Return the index of the pod in the request; -1 for none now."""


class NearestPod:
    """Takes the pod with the shortest way to the workstation."""

    def choose(self, request: PodRequest) -> int:
        """Return the nearest pod."""
        return int(request.lengths.argmin())


class MostLines:
    """Takes the pod that serves most lines; of these the one with most items for them, then the nearest."""

    def choose(self, request: PodRequest) -> int:
        """Return the pod with most lines."""
        return int(np.lexsort((request.lengths, -request.items, -request.lines))[0])


POD_CHOICES: Registry[Callable[..., PodChoice]] = Registry(
    "pod choice",
    Fit("a class with a method choose(request)", callable),
    group="fleet_sim.pod_choice",
    built_in={"nearest": NearestPod, "most_lines": MostLines},
)
"""Policies that choose pods by name; `find` also takes dotted paths."""


@dataclass(frozen=True, eq=False)
class StorageRequest:
    """The places (K,) where a pod could be stored: all that are free, and the one that it came from.

    `points` (K, 2) in m, `lengths` (K,) in m of the ways from the robot to them, `original` the index of the place that
    the pod came from, -1 where it cannot get there. `pod` is its number, `held` (S,) what is on it by sku.
    """

    pod: int
    points: Floats
    lengths: Floats
    original: int
    held: Ints
    now: float


@runtime_checkable
class StoragePolicy(Protocol):
    """Decides where pods are stored. The same requests in the same order have the same answers."""

    def choose(self, request: StorageRequest) -> int:
        """Return the index of the place in the request; -1 for none now."""


class OriginalPlace:
    """Takes each pod back to where it came from."""

    def choose(self, request: StorageRequest) -> int:
        """Return the original place."""
        return request.original


class NearestPlace:
    """Takes each pod to the nearest free place: what is asked for often comes to stand near the workstations."""

    def choose(self, request: StorageRequest) -> int:
        """Return the nearest place."""
        return int(np.argmin(request.lengths))


STORAGE_POLICIES: Registry[Callable[..., StoragePolicy]] = Registry(
    "storage policy",
    Fit("a class with a method choose(request)", callable),
    group="fleet_sim.storage_policy",
    built_in={"original": OriginalPlace, "nearest": NearestPlace},
)
"""Policies that store pods by name; `find` also takes dotted paths."""


@dataclass(frozen=True, eq=False)
class ReplenishRequest:
    """Items (S,) by sku: `held` on pods, `coming`, `target` there were at first, `asked` by orders that wait."""

    held: Ints
    coming: Ints
    target: Ints
    asked: Ints
    room: int
    """Items that all pods together have room for, what is coming left out."""
    now: float


@runtime_checkable
class ReplenishPolicy(Protocol):
    """Decides what is ordered. The same requests in the same order have the same answers."""

    def order(self, request: ReplenishRequest) -> Ints:
        """Return how many items (S,) are ordered now, at most `room` in all."""


class ReplenishThreshold:
    """Orders items of which less than the share `below` of the first stock is left, up to that stock."""

    def __init__(self, below: float = 0.5) -> None:
        self.below = as_float(below, "below", low=0.0, high=1.0)

    def order(self, request: ReplenishRequest) -> Ints:
        """Return what is missing, and what waiting orders ask for beyond it."""
        stock = request.held + request.coming
        goal = np.maximum(request.target, request.asked)
        low_mask = (stock < self.below * request.target) | (stock < request.asked)
        missing = np.where(low_mask, np.maximum(goal - stock, 0), 0)
        # The first ones get all of it where there is room for some only.
        before = np.cumsum(missing) - missing
        return np.asarray(np.clip(request.room - before, 0, missing))


class NeverReplenish:
    """Orders nothing: when the stock has been picked, it is gone."""

    def order(self, request: ReplenishRequest) -> Ints:
        """Return nothing."""
        return np.zeros(len(request.held), np.int64)


REPLENISHMENTS: Registry[Callable[..., ReplenishPolicy]] = Registry(
    "replenishment policy",
    Fit("a class with a method order(request)", callable),
    group="fleet_sim.replenishment_policy",
    built_in={"threshold": ReplenishThreshold, "never": NeverReplenish},
)
"""Policies of replenishment by name; `find` also takes dotted paths."""


def _made(registry: Registry[Callable[..., Any]], protocol: type[Any], chosen: PolicySettings) -> Any:
    policy = registry.make(chosen.type, chosen.options)
    if not isinstance(policy, protocol):
        raise InvalidValueError(f"{registry.noun} {chosen.type!r} makes {policy!r}, which is no {protocol.__name__}")
    return policy


def _index(answer: object, count: int) -> int:
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer) or not -1 <= answer < count:
        raise InvalidValueError(f"expected an index from 0 to {count - 1}, or -1 for none, got {answer!r}")
    return int(answer)


def _counts(answer: object, request: ReplenishRequest) -> Ints:
    counts = np.asarray(answer)
    if counts.shape != request.held.shape or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InvalidValueError(f"expected {len(request.held)} numbers of items, none negative, got {answer!r}")
    if counts.sum() > request.room:
        raise InvalidValueError(f"{counts.sum()} items are ordered, the pods have room for {request.room}")
    return counts.astype(np.int64)


_KINDS = {kind.value: kind for kind in StationKind}


class Pods(Stateful):
    """The pods of a simulation, their stock, and the workstations they are carried to.

    A round gives orders to workstations, orders items, lets pods under way claim more lines, and sends idle robots for
    pods: in turns, for the stations with the fewest pods first. What a policy raises, or answers wrongly, is logged
    once and counted; nothing is done.
    """

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
        self._world, self._table, self._book, self._places = world, table, book, places = parts
        self._fleet, self._settings, self._period = fleet, settings, period
        self._choice: PodChoice = _made(POD_CHOICES, PodChoice, settings.choice)
        self._storing: StoragePolicy = _made(STORAGE_POLICIES, StoragePolicy, settings.place)
        self._replenishing: ReplenishPolicy = _made(REPLENISHMENTS, ReplenishPolicy, settings.replenishment)
        self.storage = storage = floors.PodStorage(places.site, settings.storage)
        names, pod_places, stock = floors.place_pods(settings, storage, places.site.grid, world.random.stream("pods"))
        self.stock = stock
        self.counter = counter = PodCounter(world, book, places, stock, settings.open_orders)
        counter.benches = self._benches()
        counter.places = [places.number((x, y)) for x, y in storage.points.tolist()]
        # Last of what may be refused: pods are bodies from now on.
        self.shelves = floors.PodShelves(world, settings, names, storage.points[pod_places])
        self.floor = floors.PodFloor(world, table, traffic, storage, self.shelves, settings.legs)
        policies = ("pod choice", "storage policy", "replenishment policy")
        self._choosing_part, self._storing_part, self._ordering_part = map(world.guard.part, policies)
        self.crew = PodCrew(
            *(world, fleet, places, self.shelves, storage, self.floor, counter),
            self._choose_place,
            settings,
            retry_after,
        )
        self.refused_for_stock = 0
        """Orders that ask for more than there is, or ever can be."""
        self._begun = False
        self._due = 0

    def _benches(self) -> dict[int, floors.Workbench]:
        """Return the stations where orders are picked, and those where items come in; raises InvalidValueError."""
        places = self._places
        picks = places.of_kind(StationKind.WORKSTATION)
        if not picks:
            raise InvalidValueError("pods are carried to workstations; the site has no station of that kind")
        fills = []
        for name in self._settings.goods_in:
            fills += places.of_kind(_KINDS[name]) if name in _KINDS else [places.number(name)]
        benches = {place: floors.Workbench(place, picks=True) for place in picks}
        # Without places of their own, items come in where orders are picked.
        for place in fills or picks:
            benches.setdefault(place, floors.Workbench(place, picks=False)).fills = True
        return benches

    # ---- orders ------------------------------------------------------------------------------------------------------

    def check(self, order: Order) -> None:
        """Raise UnknownNameError for an unknown sku or station, InvalidValueError for more than there ever can be."""
        room = self.stock.capacity * len(self.shelves)
        never = isinstance(self._replenishing, NeverReplenish)
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

    # ---- storage -----------------------------------------------------------------------------------------------------

    def _choose_place(self, visit: floors.PodVisit) -> int:
        """Return where a pod is stored, by its index; NOWHERE where there is no place now."""
        storage = self.storage
        # A pod keeps its place while it is away, and may go back there.
        places = np.flatnonzero((storage.owner == floors.NO_POD) | (storage.owner == visit.pod))
        lengths = self.floor.lengths_to(visit.row, places)
        # No way leads to the others now.
        reached_mask = np.isfinite(lengths)
        places, lengths = places[reached_mask], lengths[reached_mask]
        if not len(places):
            return floors.NOWHERE
        own = np.flatnonzero(storage.owner[places] == visit.pod)
        request = StorageRequest(
            pod=visit.pod,
            points=storage.points[places],
            lengths=lengths,
            original=int(own[0]) if len(own) else floors.NOWHERE,
            held=self.counter.stock.held[visit.pod].copy(),
            now=self._world.clock.time,
        )
        # The answer is checked within the guard: a wrong one counts as a failure of the policy.
        chosen = self._storing_part.call(lambda: _index(self._storing.choose(request), len(places)))
        return floors.NOWHERE if chosen is None or chosen < 0 else int(places[chosen])

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def _round(self) -> None:
        """Give orders to workstations, order items, and send robots for pods."""
        counter = self.counter
        counter.assign()
        self._order_items()
        # Pods under way take lines that came meanwhile, before robots are sent for these.
        for visit in self.crew.visits.values():
            if visit.phase not in floors.GONE:
                counter.claim_more(visit)
        idle = self._idle()
        asking = [bench for bench in counter.benches.values() if bench.place not in self._places.closed]
        while idle and asking:
            # In turns, those with the fewest pods first.
            coming = Counter(visit.station for visit in self.crew.visits.values() if visit.phase not in floors.GONE)
            asking.sort(key=lambda bench: coming[bench.place])
            bench = asking.pop(0)
            # One pod at the station and one at each place to wait are enough: it asks no more in this round.
            if coming[bench.place] > len(bench.waits):
                continue
            robot = self._send(bench, idle)
            if robot is not None:
                idle.remove(robot)
                asking.append(bench)

    def _order_items(self) -> None:
        """Ask the policy what to order, as far as pods have room, and note it as coming."""
        stock = self.counter.stock
        asked = np.zeros(len(stock.skus), np.int64)
        for number in self.counter.short:
            for sku, count in self.counter.lines_of(self.counter.book.orders[number]):
                asked[sku] += count
        held = stock.held.sum(axis=0)
        # Items that were ordered before need room too.
        room = stock.capacity * len(self._standing_or_carried()) - int(held.sum() + stock.coming.sum())
        request = ReplenishRequest(
            held, stock.coming.copy(), stock.target, asked + stock.wanted, max(room, 0), self._world.clock.time
        )
        counts = self._ordering_part.call(lambda: _counts(self._replenishing.order(request), request))
        if counts is not None and counts.any():
            stock.order(counts)

    def _standing_or_carried(self) -> Ints:
        """Return the pods that robots may still use."""
        return self.storage.owner[self.storage.owner != floors.NO_POD]

    def _idle(self) -> list[Courier]:
        """Return the robots that may fetch a pod now: strong enough, low enough, and with nothing else to do."""
        able = self._table.max_load >= self._settings.mass
        # A robot that should charge is not idle, though it has nothing to do.
        wants = self._fleet.charging.wants
        return [
            courier
            for row, courier in self._fleet.couriers.items()
            if courier.is_free
            and not (courier.plan or wants(row) or self._world.actions.queued(row))
            and able[row]
            and self.floor.passes_under(row)
        ]

    def _send(self, bench: floors.Workbench, idle: list[Courier]) -> Courier | None:
        """Send a robot for a pod that a station needs; return it, None where there is none to send."""
        places = np.flatnonzero(self.storage.owner != floors.NO_POD)
        pods = self.storage.owner[places]
        # A pod is in one visit at a time.
        busy = [visit.pod for visit in self.crew.visits.values()]
        there_mask = ~np.isin(pods, busy)
        places, pods = places[there_mask], pods[there_mask]
        lengths = self._places.between(self._place_numbers(places), np.full(len(places), bench.place))
        found = self._pod_for(bench, pods, lengths) if bench.picks else None
        # Picking comes before filling, as orders wait for it.
        fills = found is None and bench.fills
        if fills:
            found = self._pod_to_fill(pods, lengths)
        if found is None:
            return None
        index, coming = found
        # The pod comes first; then the robot nearest to it.
        place = self._place_numbers(places[[index]])
        rows = [courier.row for courier in idle]
        ways = self._places.lengths_from(self._world.position[rows], place)[:, 0]
        nearest = int(ways.argmin())
        if not np.isfinite(ways[nearest]):
            return None
        visit = floors.PodVisit(idle[nearest].row, int(pods[index]), bench.place, fills=fills)
        if fills:
            self.counter.claim_room(visit, coming)
        else:
            self.counter.claim_more(visit)
        self.crew.begin(visit, int(place[0]))
        return idle[nearest]

    def _place_numbers(self, places: Ints) -> Ints:
        return np.array(self.counter.places, np.int64)[places]

    def _pod_for(self, bench: floors.Workbench, pods: Ints, lengths: Floats) -> tuple[int, Ints] | None:
        """Return the index of the pod that the policy chooses for the lines of a workstation."""
        stock = self.counter.stock
        wanted = bench.wanted(len(stock.skus))
        if not wanted.any():
            return None
        # Of each sku at most as many as are wanted.
        free = stock.free[pods]
        items = np.minimum(free, wanted).sum(axis=1)
        skus = [line.sku for line in bench.lines if line.unclaimed]
        can = np.flatnonzero((items > 0) & np.isfinite(lengths))
        if not len(can):
            return None
        request = PodRequest(
            pods=pods[can],
            lengths=lengths[can],
            lines=(free[can][:, skus] > 0).sum(axis=1),
            items=items[can],
            held=free[can],
            wanted=wanted,
            now=self._world.clock.time,
        )
        chosen = self._choosing_part.call(lambda: _index(self._choice.choose(request), len(can)))
        return None if chosen is None or chosen < 0 else (int(can[chosen]), wanted)

    def _pod_to_fill(self, pods: Ints, lengths: Floats) -> tuple[int, Ints] | None:
        """Return the index of the pod with most room, the nearest of these, and the items (S,) that wait for one."""
        stock = self.counter.stock
        # Without what robots on their way are to fill in.
        coming = stock.coming.copy()
        for visit in self.crew.visits.values():
            for claim in visit.to_serve if visit.fills else []:
                coming[claim.sku] -= claim.items
        rooms = np.where(np.isfinite(lengths), stock.capacity - stock.held[pods].sum(axis=1), 0)
        if not coming.any() or not (rooms > 0).any():
            return None
        # `lexsort` sorts by its last key first: most room, then the shortest way.
        return int(np.lexsort((lengths, -rooms))[0]), coming

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
        self._round()

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
        """Called before entities are removed."""
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
