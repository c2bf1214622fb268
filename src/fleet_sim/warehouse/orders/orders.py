"""Orders: all orders of a simulation and the fleet that serves them, for users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError, StateFileError, brief
from fleet_sim.base.files import write_table
from fleet_sim.base.settings import read
from fleet_sim.warehouse.orders.allocation import Rounds, make_allocator
from fleet_sim.warehouse.orders.charging import Charging, make_policy
from fleet_sim.warehouse.orders.fleet import OrderFleet
from fleet_sim.warehouse.orders.order import (
    FINAL,
    LONGEST_ID,
    CancelOrders,
    Order,
    OrderColumns,
    OrderState,
    OrderStatus,
    RobotState,
    SetStationsOpen,
    SubmitOrders,
)
from fleet_sim.warehouse.orders.places import OrderBook, OrderParts, OrderPlaces, Stands, Timers
from fleet_sim.warehouse.orders.pods.pods import Pods
from fleet_sim.warehouse.orders.settings import ARRIVED, ArrivalStreams, OrderRobotSettings, OrdersSettings
from fleet_sim.warehouse.orders.stations import StationLanes
from fleet_sim.warehouse.orders.transport import TAKEN_AWAY, Odometer, TimeSheet
from fleet_sim.warehouse.sites.site import StationKind
from fleet_sim.world.commands import Command, CommandAck
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import ANY, Phase, System, any_span, each_step
from fleet_sim.world.state_files import Form, Stateful
from fleet_sim.world.user_code import EventBus
from fleet_sim.world.world import World

HOUR = 3600.0
# The usual ones: half of all, most, and nearly all.
_PERCENTILES = (50, 90, 99)
_DONE = OrderState.DONE.code
_SAMPLED = ("unreleased", *(state.value for state in OrderState))
_FINAL = [state.code for state in FINAL]


def _spread(values: Floats) -> Mapping[str, float | None]:
    """Return mean, percentiles and maximum; None for all where there are no values."""
    names = ["mean", *(f"p{percent}" for percent in _PERCENTILES), "max"]
    # A mean of nothing is no number, not 0.
    if not len(values):
        return dict.fromkeys(names)
    numbers = [values.mean(), *np.percentile(values, _PERCENTILES), values.max()]
    return dict(zip(names, map(float, numbers), strict=True))


RELEASED, SAMPLED, LOOKED = "released", "sampled", "looked"


class Orders(Stateful):
    """Orders of one simulation: submit and cancel them, and see what became of them.

    The same orders at the same times have the same outcome. All of it is part of saved states and of a reset.
    """

    STATE = (
        "book",
        "fleet",
        "_timers",
        "_transport",
        "places",
        "refused",
        "_charging",
        "odometer",
        "_samples",
        "_arrivals",
        "pods",
        "_round_due",
    )

    def __init__(
        self, world: World, table: OrderColumns, places: OrderPlaces, transport: StationLanes, settings: OrdersSettings
    ) -> None:
        """Raises UnknownNameError, InvalidValueError or MissingDependencyError for the allocator of `settings`."""
        self.settings = settings
        self.places = places
        self.refused = 0
        """How many orders were refused."""
        self._world, self._table, self._transport = world, table, transport
        self.book = OrderBook(self._announce)
        self._timers = Timers()
        parts = OrderParts(world, table, self.book, places)
        self.odometer = Odometer(world, table)
        self.fleet = OrderFleet(parts, transport, self._timers, settings, TimeSheet(self.odometer))
        chosen = settings.allocation
        allocator = make_allocator(chosen.type, chosen.options)
        self._samples: list[tuple[float, ...]] = []
        policy = make_policy(settings.charging.policy, settings.charging.options)
        chargers = Stands(places, StationKind.CHARGE)
        self._charging = Charging(world, self.book, self.fleet, chargers, policy)
        self._rounds = Rounds(parts, self.fleet, allocator, chosen)
        self._arrivals = ArrivalStreams(world, self._timers, self.submit)
        self.pods: Pods | None = None
        """The pods with stock, in simulations that have some."""
        self._timers.add(world.clock.tick, SAMPLED, 0)
        self._timers.add(world.clock.tick, LOOKED, 0)
        self._known = -1
        self._round_due = 0

    # ---- orders ------------------------------------------------------------------------------------------------------

    def submit(self, order: Order | Mapping[str, Any] | None = None, **settings: Any) -> str:
        """Add an order, given as such or by its settings; return its id.

        Raises UnknownNameError for an unknown station, DuplicateNameError for an id that is taken, and
        InvalidValueError or ConfigError for values that are not allowed, for stops that no way joins, and for a load
        that no robot takes. Refused orders are counted in `refused`.
        """
        try:
            return self._submit(read(Order, {**settings} if order is None else order))
        except FleetSimError:
            self.refused += 1
            raise

    def _submit(self, order: Order) -> str:
        name = order.id or self.book.free_name()
        self.book.check_new(name)
        self._join()
        stops = [self.places.number(place) for place in order.places]
        if order.lines:
            self._require_pods(name).check(order)
        self._check_stops(name, stops)
        self._check_load(name, order.load)
        now = self._world.clock.time
        number = self.book.add(name, replace(order, id=name), stops, now)
        if order.lines:
            self._require_pods(name).counter.add(number)
        if order.release > now:
            self._timers.add(self._world.clock.ticks(order.release), RELEASED, number)
        else:
            self._release(number)
        return name

    def _require_pods(self, name: str) -> Pods:
        if self.pods is None:
            raise InvalidValueError(f"order {name!r} has lines, and there are no pods; add `pods` to the orders")
        return self.pods

    def _check_stops(self, name: str, stops: Sequence[int]) -> None:
        for stop, following in pairwise(stops):
            if stop == following:
                raise InvalidValueError(f"order {name!r} stops at {self.places.names[stop]} twice in a row")
        self.places.check_way(stops)

    def _check_load(self, name: str, load: float) -> None:
        rows = self._table.among(self._world.rows)
        if len(rows) and load > self._table.max_load[rows].max():
            most = float(self._table.max_load[rows].max())
            raise InvalidValueError(f"order {name!r}: its load of {load:g} kg is too heavy, robots take {most:g} kg")

    def cancel(self, name: str, reason: str = "cancelled") -> None:
        """Cancel an order that has not ended; raises UnknownNameError, and StateError for one that has.

        A robot that has its load already brings it back to the first stop.
        """
        number = self.book.number(name)
        if self.book.orders[number].lines:
            self._require_pods(name).cancel(number, reason)
        else:
            self.fleet.cancel(number, reason)

    def status(self, name: str) -> OrderStatus:
        """Return what became of an order; raises UnknownNameError."""
        return self.book.status(self.book.number(name), self.places.names)

    def __len__(self) -> int:
        return len(self.book)

    @property
    def names(self) -> list[str]:
        """The ids of all orders, in the order of submission."""
        return [order.id for order in self.book.orders]

    @property
    def counts(self) -> dict[OrderState, int]:
        """How many orders are in each state; waiting are also those that are not released yet."""
        return dict(self.book.counts)

    @property
    def delivered(self) -> int:
        """How many orders are done."""
        return self.book.counts[OrderState.DONE]

    @property
    def released_waiting(self) -> int:
        """How many orders wait that were released."""
        return len(self.book.waiting) + (0 if self.pods is None else len(self.pods.counter.waiting))

    @property
    def totals(self) -> dict[str, int]:
        """How many orders were submitted and refused, and how many of those submitted are in each state, by its name.

        Those that wait for their release are `unreleased`, and not among the `waiting` ones.
        """
        counts, waiting = self.book.counts, self.released_waiting
        return {
            "submitted": len(self.book),
            "refused": self.refused,
            "unreleased": counts[OrderState.WAITING] - waiting,
            **{state.value: count for state, count in counts.items()},
            "waiting": waiting,
        }

    # ---- figures -----------------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        """Return how well orders are served, as nested mappings of numbers; see docs/orders.md for the keys.

        Times in s, distances in m, energy in J. None where there is no number.
        """
        table, now = self.book.table, self._world.clock.time
        count = len(self.book)
        done = table.state[:count] == _DONE
        release, assigned, picked, ended, due = (
            column[:count] for column in (table.release, table.assigned, table.picked, table.ended, table.due)
        )
        # Without a due time nothing can be late.
        timed = done & np.isfinite(due)
        late = np.maximum(ended - due, 0.0)[timed]
        done_late = int((late > 0.0).sum())
        # An open order is late as soon as its time is over, whenever it will be done.
        overdue = int((~np.isin(table.state[:count], _FINAL) & (due < now)).sum())
        # At the beginning there is no whole hour yet.
        span = min(now, HOUR)
        return {
            "simulated_s": now,
            "orders": self.totals,
            "throughput_per_hour": {
                "mean": int(done.sum()) / now * HOUR if now > 0.0 else None,
                "last_hour": int((done & (ended > now - span)).sum()) / span * HOUR if span > 0.0 else None,
            },
            "flow_time_s": _spread((ended - release)[done]),
            "waiting_time_s": _spread((assigned - release)[done]),
            "fetching_time_s": _spread((picked - assigned)[done]),
            "carrying_time_s": _spread((ended - picked)[done]),
            "lateness_s": {
                "with_due": int(timed.sum()),
                "late": done_late + overdue,
                "done_late": done_late,
                "overdue": overdue,
                **_spread(late),
            },
            "robots": self._of_robots(),
            **({} if self.pods is None else {"pods": self.pods.figures()}),
        }

    def _of_robots(self) -> dict[str, Any]:
        """Return what robots did, those that were removed included."""
        rows = self._table.among(self._world.rows)
        # Those that were removed have left their sums.
        driven, loaded, stood, energy, *times = (self.odometer.total + self.odometer.sums(rows)).tolist()
        whole = sum(times)
        return {
            "count": len(rows),
            "time_s": {state.value: time for state, time in zip(RobotState, times, strict=True)},
            "share": {s.value: time / whole if whole else None for s, time in zip(RobotState, times, strict=True)},
            "driven_m": driven,
            "driven_loaded_m": loaded,
            "stood_driving_s": stood,
            "energy_j": energy,
        }

    def _sample(self) -> None:
        world, table, counts = self._world, self._table, self.totals
        states = np.bincount(table.state[table.among(world.rows)], minlength=len(RobotState))
        self._samples.append((world.clock.time, *(counts[name] for name in _SAMPLED), *states.tolist()))
        self._after(self.settings.sample_period, SAMPLED)

    def history(self) -> dict[str, Floats]:
        """Return samples over time, one every `sample_period`, as columns: `time` in s, orders and robots by state."""
        names = ["time", *(f"orders_{name}" for name in _SAMPLED), *(f"robots_{s.value}" for s in RobotState)]
        samples = np.array(self._samples, np.float64).reshape(-1, len(names))
        return {name: samples[:, index].copy() for index, name in enumerate(names)}

    def write_csv(self, path: str | Path) -> None:
        """Write a CSV file with a line per order: what became of it, and when."""
        lines = []
        for number, order in enumerate(self.book.orders):
            status = self.book.status(number, self.places.names)
            moments = (status.released, status.due, status.assigned, status.picked, status.ended)
            texts = (status.id, status.state.value, status.robot, "|".join(status.stops), status.reason)
            lines.append([*texts, order.load, order.priority, *("" if time is None else time for time in moments)])
        header = ("id", "state", "robot", "stops", "reason", "load", "priority")
        times = ("released", "due", "assigned", "picked", "ended")
        write_table(path, {name: [line[at] for line in lines] for at, name in enumerate((*header, *times))})

    def write_history(self, path: str | Path) -> None:
        """Write a CSV file with a line per sample of `history`."""
        write_table(path, {name: column.tolist() for name, column in self.history().items()})

    def _after(self, seconds: float, what: str) -> None:
        clock = self._world.clock
        self._timers.add(clock.tick + max(clock.ticks(seconds), 1), what, 0)

    # ---- stations ----------------------------------------------------------------------------------------------------

    def queued(self, rows: Rows) -> Bools:
        """Return which robots (N,) wait for their turn in the queue of a station."""
        waiting = [row for line in self._transport.queues().values() for row in line[1:]]
        return np.isin(rows, waiting) if waiting else np.zeros(len(rows), bool)

    def close_station(self, name: str) -> None:
        """Let nobody be sent to a station any more; raises UnknownNameError.

        Orders that lead there wait. Robots on their way to it give the order back, or, with a load, wait where they are
        until it opens. Who is there already is served.
        """
        place = self.places.number(name)
        self.places.closed.add(place)
        self.fleet.close(place)

    def open_station(self, name: str) -> None:
        """Let robots be sent to a station again; raises UnknownNameError."""
        place = self.places.number(name)
        self.places.closed.discard(place)
        self.fleet.open(place)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Do what is due: handle ended drives, services and releases, and give orders to robots."""
        world = self._world
        if world.version != self._known:
            self._join()
        self._charging.hear()
        for outcome in self._transport.take_outcomes():
            self.fleet.drive_ended(outcome)
        for line in self._transport.queues().values():
            for row in line[1:]:
                self.fleet.queue(row)
        for timer in self._timers.due(world.clock.tick):
            if timer.what == RELEASED:
                self._release(timer.subject)
            elif timer.what == LOOKED:
                self._charging.look()
                self._after(self.settings.charging.period, LOOKED)
            elif timer.what == SAMPLED:
                self._sample()
            elif timer.what == ARRIVED:
                self._arrivals.arrive(timer.subject)
            elif timer.what == TAKEN_AWAY:
                self.fleet.loads.take_away(timer.subject)
            else:
                self.fleet.timer(timer.what, timer.subject, timer.token)
        if self.pods is not None:
            self.pods.run()
        if self.fleet.changed and world.clock.tick >= self._round_due:
            self.fleet.changed = False
            self._round_due = world.clock.tick + world.clock.ticks(self.settings.allocation.period)
            if self._rounds.run() and self.settings.allocation.queue > 1:
                # An allocator that gives each robot one order at a time goes on in the next round.
                self.fleet.changed = True

    def span(self) -> int:
        """Return for how many ticks nothing of theirs depends on where robots are, and nobody is told of orders."""
        told = self._world.events.may_act("order_changed", "robot_out_of_energy")
        return 1 if told or self.pods is not None or self._transport.looks else ANY

    def is_due(self) -> bool:
        """Return whether there is something to do in the next tick."""
        tick, fleet = self._world.clock.tick + 1, self.fleet
        heard = self._transport.has_outcomes or self._charging.has_heard
        return heard or self._timers.is_due(tick) or (fleet.changed and tick >= self._round_due)

    def begin_arrivals(self) -> None:
        """Let orders come at random, as set; raises ConfigError naming the stream."""
        self._arrivals.begin(self.settings.arrivals, self.places, () if self.pods is None else self.pods.stock.skus)

    def _release(self, number: int) -> None:
        # It may have been cancelled before.
        if self.book.state(number) is OrderState.WAITING:
            if self.book.orders[number].lines:
                self._require_pods("").release(number)
                return
            self.book.release(number)
            self.fleet.changed = True

    def _join(self) -> None:
        """Take in new robots."""
        world = self._world
        if world.version == self._known:
            return
        self._known = world.version
        self.fleet.join()
        self.places.look()
        if self.fleet.couriers:
            self.places.radius = float(self._table.radius[list(self.fleet.couriers)].min())

    def removed(self, rows: Rows) -> None:
        """Called before entities are removed."""
        if self.pods is not None:
            self.pods.removed(rows)
        for row in rows[self._table.present[rows]].tolist():
            self.odometer.retire(row)
            self.fleet.on_robot_removed(row)

    def _announce(self, number: int, begin: OrderState, end: OrderState) -> None:
        """Emit `order_changed`."""
        if self._world.events.has_handlers("order_changed"):
            book = self.book
            self._world.events.emit(
                "order_changed", order=book.orders[number].id, before=begin, state=end, robot=book.robots[number]
            )

    def close(self) -> None:
        """Stop listening to the simulation."""
        self._transport.close()
        self._charging.close()

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        super().restore(saved)
        self._known = -1


# The place of orders in a simulation: there from the first use of the feature on, with or without a site.


class OrderDesk:
    """Runs the Orders of a simulation once there are some; robots with the feature idle until then."""

    def __init__(self, world: World, table: OrderColumns) -> None:
        self.world = world
        self.table = table
        self._orders: Orders | None = None

    @property
    def orders(self) -> Orders:
        """The orders; raises StateError where nobody has offered a site for them."""
        if self._orders is None:
            raise StateError(
                "there are no orders without stations; add the sections 'site' and 'orders' to the scenario, "
                "or call offer_orders"
            )
        return self._orders

    @property
    def is_open(self) -> bool:
        """Whether there are orders."""
        return self._orders is not None

    def open(self, orders: Orders | None) -> None:
        """Run `orders` from now on, or none."""
        self._orders = orders

    def run(self) -> None:
        """Do what is due."""
        if self._orders is not None:
            self._orders.run()

    def span(self) -> int:
        """Return for how many ticks nobody has to look at them, but to see whether something is due."""
        return ANY if self._orders is None else self._orders.span()

    def is_due(self, dt: float) -> bool:
        """Return whether there is something to do in the next tick."""
        return self._orders is not None and self._orders.is_due()

    # ---- commands ----------------------------------------------------------------------------------------------------

    def submit(self, command: SubmitOrders) -> CommandAck:
        """Carry out a SubmitOrders."""
        orders = self.orders
        accepted: list[str] = []
        rejected: dict[str, str] = {}
        for index, entry in enumerate(command.orders):
            try:
                accepted.append(orders.submit(entry))
            except FleetSimError as error:
                given = entry.get("id") if isinstance(entry, Mapping) else None
                # By its id only where that says which one is meant; else by its place in the list.
                usable = isinstance(given, str) and 0 < len(given) <= LONGEST_ID and given not in rejected
                rejected[str(given) if usable else f"orders[{index}]"] = str(error)
        return command.ack(self.world.clock.time, accepted, rejected)

    def cancel(self, command: CancelOrders) -> CommandAck:
        """Carry out a CancelOrders."""
        reason = _text(command.reason, "reason")
        return self._each(command, command.ids, lambda name: self.orders.cancel(name, reason))

    def set_open(self, command: SetStationsOpen) -> CommandAck:
        """Carry out a SetStationsOpen."""
        change = self.orders.open_station if command.open else self.orders.close_station
        return self._each(command, command.stations, change)

    def _each(self, command: Command, names: tuple[str, ...], change: Callable[[str], None]) -> CommandAck:
        """Apply `change` to each name; what it raises is the reason why that name is rejected."""
        accepted: list[str] = []
        rejected: dict[str, str] = {}
        for name in names:
            try:
                change(_text(name, "name"))
                accepted.append(name)
            except FleetSimError as error:
                rejected[brief(name) if not isinstance(name, str) else name[:LONGEST_ID]] = str(error)
        return command.ack(self.world.clock.time, accepted, rejected)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def measure(self, dt: float) -> None:
        """Add up what robots did in a step."""
        if self._orders is not None:
            self._orders.odometer.run(dt)

    def removed(self, rows: Rows) -> None:
        """Called before entities are removed."""
        if self._orders is not None:
            self._orders.removed(rows)

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the orders are written in state files: they are those of the simulation that reads it."""
        yield Form("orders", Orders, lambda orders: orders.places.stations, self._orders_at)

    def _orders_at(self, stations: list[str]) -> Orders:
        if self.orders.places.stations != stations:
            raise StateFileError("the stations of the site are others than when the state was saved")
        return self.orders

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        # Together with the Orders themselves: others may be open when it is restored.
        return None if self._orders is None else (self._orders, self._orders.save())

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; a state from before there were orders has none."""
        self._orders = None
        if saved is not None:
            self._orders, state = saved
            self._orders.restore(state)


LONGEST_REASON = 200


def _text(value: object, what: str) -> str:
    """Return `value`; raises InvalidValueError unless it is a text of a length that is kept."""
    if not isinstance(value, str) or len(value) > LONGEST_REASON:
        raise InvalidValueError(f"{what}: must be a text of at most {LONGEST_REASON} letters, got {brief(value)}")
    return value


# The entry point of the feature, which `setup.cfg` declares: it connects orders to a simulation.


class OrdersFeature(Feature[OrderRobotSettings, OrderColumns]):
    """Robots that serve orders: `orders:` in a spawn entry, `sim.features.use("orders")` is the OrderDesk."""

    doc = "Lets it serve orders."
    settings = OrderRobotSettings
    table = OrderColumns

    def start(self, host: FeatureHost, table: OrderColumns) -> OrderDesk:
        """Decide before actions begin, so that robots start in the step in which they are told."""
        desk = OrderDesk(host.world, table)
        deciding = System("orders", Phase.UPDATE, each_step(desk.run), span=desk.span, each=desk.is_due)
        host.pipeline.add(deciding, before="actions")
        # After all motion, that of the engine included, and after the batteries if these are in use already.
        measuring = System("orders_odometer", Phase.OBSERVE, desk.measure, span=any_span, each=desk.measure)
        host.pipeline.add(measuring, before="sensors")
        host.dispatcher.handle(SubmitOrders, desk.submit)
        host.dispatcher.handle(CancelOrders, desk.cancel)
        host.dispatcher.handle(SetStationsOpen, desk.set_open)
        host.checkpoints.register_late("orders", desk)
        host.world.on_remove.append(desk.removed)
        return desk

    def orders(self, part: OrderDesk, table: OrderColumns, rows: Rows) -> Sequence[str]:
        """Return the ids of the orders that robots serve."""
        if not part.is_open:
            return ()
        orders = part.orders.book.orders
        return [orders[number].id if number >= 0 else "" for number in table.order[rows].tolist()]


FEATURE = OrdersFeature()


# OrderNews: what there is to tell of orders to those who follow them.


class OrderNews:
    """Collects new orders and those that changed; each is told once, as it is then, the one that changed first, first.

    It begins with all orders that have not ended, as `begin_anew` does.
    """

    def __init__(self, desk: OrderDesk, events: EventBus) -> None:
        self._desk, self._events = desk, events
        self._changed: dict[int, None] = {}
        self._known = 0
        events.on("order_changed", self._note)
        self.begin_anew()

    def close(self) -> None:
        """Collect nothing any more."""
        self._events.off("order_changed", self._note)

    def begin_anew(self) -> None:
        """Tell of all orders that have not ended, and of nothing else: for new listeners, and after a reset."""
        self._changed.clear()
        if not self._desk.is_open:
            self._known = 0
            return
        book = self._desk.orders.book
        self._known = len(book)
        numbers = np.flatnonzero(~np.isin(book.table.state[: self._known], _FINAL))
        self._changed.update(dict.fromkeys(numbers.tolist()))

    def take(self, most: int) -> tuple[OrderStatus, ...]:
        """Return what has not been told yet, of `most` orders at most; the rest is for the next call."""
        if not self._desk.is_open:
            return ()
        orders = self._desk.orders
        if self._known < len(orders):
            self._changed.update(dict.fromkeys(range(self._known, len(orders))))
            self._known = len(orders)
        numbers = [number for number, _ in zip(self._changed, range(most), strict=False)]
        for number in numbers:
            del self._changed[number]
        return tuple(orders.book.status(number, orders.places.names) for number in numbers)

    def _note(self, order: str, **_: object) -> None:
        self._changed[self._desk.orders.book.number(order)] = None
