"""The place of orders in a simulation: there from the first use of the feature on, with or without a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError, StateFileError, brief
from fleet_sim.warehouse.orders.order import (
    FINAL,
    LONGEST_ID,
    CancelOrders,
    OrderColumns,
    OrderStatus,
    SetStationsOpen,
    SubmitOrders,
)
from fleet_sim.warehouse.orders.orders import Orders
from fleet_sim.warehouse.orders.settings import OrderRobotSettings
from fleet_sim.world.commands import Command, CommandAck
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System, each_step
from fleet_sim.world.state_files import Form
from fleet_sim.world.user_code import EventBus
from fleet_sim.world.world import World


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
        host.pipeline.add(System("orders", Phase.UPDATE, each_step(desk.run)), before="actions")
        # After all motion, that of the engine included, and after the batteries if these are in use already.
        host.pipeline.add(System("orders_odometer", Phase.OBSERVE, desk.measure), before="sensors")
        host.dispatcher.handle(SubmitOrders, desk.submit)
        host.dispatcher.handle(CancelOrders, desk.cancel)
        host.dispatcher.handle(SetStationsOpen, desk.set_open)
        host.checkpoints.register_late("orders", desk, desk.forms())
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


_FINAL = [state.code for state in FINAL]


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
