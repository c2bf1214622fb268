"""OrderNews: what there is to tell of orders to those who follow them."""

from __future__ import annotations

import numpy as np

from fleet_sim.core.events import EventBus
from fleet_sim.orders.desk import OrderDesk
from fleet_sim.orders.order import OrderStatus
from fleet_sim.orders.states import FINAL

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
