"""OrderBook: all orders of a simulation, by number, and the only place where their states change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Ints
from fleet_sim.core.columns import ColumnTable, column
from fleet_sim.core.world import World
from fleet_sim.errors import DuplicateNameError, unknown_name
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.order import Order, OrderStatus
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.states import FINAL, OrderState, after

NEVER = np.nan
_FINAL = frozenset(FINAL)


class OrderTable(ColumnTable):
    """Numbers of orders, one row each, in order of submission."""

    state: Bytes = column(np.uint8, writer="OrderBook", doc="code of an OrderState")
    priority: Ints = column(np.int64, writer="OrderBook.add")
    load: Floats = column(float, unit="kg", writer="OrderBook.add")
    pick: Ints = column(np.int64, writer="OrderBook.add", doc="number of the first place")
    length: Floats = column(float, default=NEVER, unit="m", writer="OrderBook", doc="of its way; nan until asked for")
    release: Floats = column(float, unit="s", writer="OrderBook.add")
    due: Floats = column(float, default=np.inf, unit="s", writer="OrderBook.add", doc="inf: none")
    assigned: Floats = column(float, default=NEVER, unit="s", writer="OrderBook", doc="when it got its present robot")
    picked: Floats = column(float, default=NEVER, unit="s", writer="OrderBook", doc="when its load was taken")
    ended: Floats = column(float, default=NEVER, unit="s", writer="OrderBook")
    attempts: Ints = column(np.int64, writer="OrderBook", doc="drives for it that failed")


class OrderBook:
    """The orders by number, from 0 in the order of submission. Each is also found by its id, which is unique."""

    def __init__(self, on_change: Callable[[int, OrderState, OrderState], None]) -> None:
        self._on_change = on_change
        self.table = OrderTable()
        self.orders: list[Order] = []
        self.stops: list[tuple[int, ...]] = []
        self.robots: list[str] = []
        self.reasons: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self.counts = dict.fromkeys(OrderState, 0)
        """How many orders are in each state."""
        self.waiting: dict[int, None] = {}
        """Released orders that wait for a robot; a dict for its order, in which they began to wait."""

    def __len__(self) -> int:
        return len(self.orders)

    # ---- adding and finding ------------------------------------------------------------------------------------------

    def check_new(self, name: str) -> None:
        """Raise DuplicateNameError where there is an order with the id `name`."""
        if name in self._numbers:
            raise DuplicateNameError(f"there is an order {name!r} already; an id is given once in a run")

    def free_name(self) -> str:
        """Return an id that no order has."""
        number = len(self.orders)
        while f"order_{number}" in self._numbers:
            number += 1
        return f"order_{number}"

    def add(self, name: str, order: Order, stops: Sequence[int], now: float) -> int:
        """Add an order that waits; returns its number. Raises DuplicateNameError for an id that is taken."""
        self.check_new(name)
        number = len(self.orders)
        if number == self.table.capacity:
            self.table.grow(2 * number)
        table = self.table
        table.state[number] = OrderState.WAITING.code
        table.priority[number], table.load[number], table.pick[number] = (
            order.priority,
            order.load,
            stops[0] if stops else -1,
        )
        # What is told after its release is known from now on: it cannot have waited before.
        table.release[number] = max(order.release, now)
        table.due[number] = np.inf if order.due is None else order.due
        self.orders.append(order)
        self.stops.append(tuple(stops))
        self.robots.append("")
        self._numbers[name] = number
        self.counts[OrderState.WAITING] += 1
        return number

    def number(self, name: str) -> int:
        """Return the number of the order with the id `name`; raises UnknownNameError with the closest one."""
        number = self._numbers.get(name)
        if number is None:
            # Only the latest ones are compared: looking through all orders of a long day for a similar id would take
            # seconds.
            raise unknown_name("order", name, list(self._numbers)[-1000:])
        return number

    def state(self, number: int) -> OrderState:
        """Return the state of an order."""
        return STATES[self.table.state[number]]

    def release(self, number: int) -> None:
        """Let an order be assigned from now on."""
        self.waiting[number] = None

    # ---- transitions -------------------------------------------------------------------------------------------------

    def change(self, number: int, transition: str, now: float, *, robot: str | None = None, reason: str = "") -> None:
        """Carry out a transition of an order; raises StateError where it does not lead from the order's state."""
        table, begin = self.table, self.state(number)
        end = after(transition, begin)
        table.state[number] = end.code
        self.counts[begin] -= 1
        self.counts[end] += 1
        # Whatever becomes of it, it waits no longer; one that is to wait again goes to the end below.
        self.waiting.pop(number, None)
        if robot is not None:
            self.robots[number] = robot
        if reason:
            self.reasons[number] = reason
        elif end is not begin:
            self.reasons.pop(number, None)
        if end is OrderState.ASSIGNED:
            table.assigned[number] = now
        elif end is OrderState.CARRYING:
            table.picked[number] = now
        elif end is OrderState.WAITING:
            table.assigned[number] = NEVER
            self.waiting[number] = None
        elif end in _FINAL:
            table.ended[number] = now
        self._on_change(number, begin, end)

    # ---- looking -----------------------------------------------------------------------------------------------------

    def status(self, number: int, places: Sequence[str]) -> OrderStatus:
        """Return what became of an order; `places` are the names of places by number."""
        table = self.table
        name = self.orders[number].id
        assigned, picked, ended = (_time(array[number]) for array in (table.assigned, table.picked, table.ended))
        return OrderStatus(
            id=name,
            state=self.state(number),
            robot=self.robots[number],
            reason=self.reasons.get(number, ""),
            stops=tuple(places[stop] for stop in self.stops[number]),
            released=float(table.release[number]),
            due=None if np.isinf(table.due[number]) else float(table.due[number]),
            assigned=assigned,
            picked=picked,
            ended=ended,
        )

    def by_urgency(self) -> Ints:
        """Return the released waiting orders: largest priority first, then earliest release, then first submitted."""
        numbers = np.fromiter(self.waiting, np.int64, len(self.waiting))
        table = self.table
        order = np.lexsort((numbers, table.release[numbers], -table.priority[numbers]))
        urgent: Ints = numbers[order]
        return urgent

    def lengths_of(self, numbers: Ints, length_of: Callable[[Sequence[int]], float]) -> Floats:
        """Return the lengths (K,) in m of the ways along the stops of orders, which `length_of` knows."""
        table = self.table
        for number in numbers[np.isnan(table.length[numbers])].tolist():
            table.length[number] = length_of(self.stops[number])
        lengths: Floats = table.length[numbers]
        return lengths

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Return the state as copies."""
        return {
            "table": self.table.copy_arrays(),
            "count": len(self.orders),
            "robots": list(self.robots),
            "reasons": dict(self.reasons),
            "counts": dict(self.counts),
            "waiting": dict(self.waiting),
            "orders": list(self.orders),
            "stops": list(self.stops),
            "numbers": dict(self._numbers),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned."""
        self.table.grow(len(saved["table"]["state"]))
        self.table.restore_arrays(saved["table"])
        self.orders, self.stops = list(saved["orders"]), list(saved["stops"])
        self.robots, self.reasons = list(saved["robots"]), dict(saved["reasons"])
        self.counts, self.waiting = dict(saved["counts"]), dict(saved["waiting"])
        self._numbers = dict(saved["numbers"])


STATES = list(OrderState)


def _time(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


class OrderParts(NamedTuple):
    """What everybody who serves the orders of one simulation works with."""

    world: World
    table: OrderColumns
    book: OrderBook
    places: OrderPlaces
