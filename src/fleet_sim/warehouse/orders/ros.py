"""/fleet/orders: orders are submitted, cancelled and asked for by services; a topic has new ones and every change."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Diagnosis, Interface
from fleet_sim.ros.messages import ack_to_msg, time_to_msg
from fleet_sim.warehouse import orders as desks
from fleet_sim.world.commands import CommandAck
from fleet_sim_msgs.msg import CommandResult, Order, OrderStatus
from fleet_sim_msgs.srv import CancelOrders, GetOrders, SubmitOrders

if TYPE_CHECKING:
    from fleet_sim.warehouse.orders.orders import OrderDesk, OrderNews

MOST = 1000
"""Orders in one request, and in one response."""
MOST_TOLD = 200
"""Messages in one step; further ones are for the next: a reader has time to fetch them, and the step is not held up."""
MOST_NAMED = 20
"""Robots without energy that are named."""
_TIMES = ("pick_time", "stop_time", "drop_time")


def order_from_msg(message: Order) -> dict[str, Any]:
    """Return the settings of the order in `message`, as far as it says something."""
    settings: dict[str, Any] = {
        "id": message.id,
        "stops": list(message.stops),
        "load": message.load,
        "priority": message.priority,
        "release": message.release,
    }
    if message.skus or message.quantities:
        # Where one list is longer something is missing, which is refused with the order.
        pairs = zip_longest(message.skus, message.quantities)
        settings["lines"] = [(sku, None if count is None else int(count)) for sku, count in pairs]
        # Where it is picked is its drop station: there is none before.
        if len(message.stops) == 1:
            settings["stops"], settings["drop"] = (), message.stops[0]
    if message.due != 0.0:
        settings["due"] = message.due
    for name in _TIMES:
        time = getattr(message, name)
        # nan goes on, so that it is refused: it is less than nothing, and more than nothing, just as little.
        if not time < 0.0:
            settings[name] = time
    return settings


def status_to_msg(status: desks.OrderStatus, now: int) -> OrderStatus:
    """Return `status` as a message of the time `now` in ns."""
    return OrderStatus(stamp=time_to_msg(now), **status.message_fields())


class OrdersInterface(Interface):
    """Offers /fleet/orders in simulations that have orders when the node starts."""

    own_rate = None

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._desk: OrderDesk | None = None
        self._news: OrderNews | None = None
        self._listeners = 0
        if "orders" not in bridge.sim.features.used:
            return
        self._desk = bridge.sim.features.use("orders")
        # Loaded already where there are orders.
        from fleet_sim.warehouse.orders.orders import OrderNews

        self._news = OrderNews(self._desk, bridge.sim.events)
        self._publisher = bridge.node.create_publisher(OrderStatus, "fleet/orders", qos.ORDERS)
        bridge.serve(SubmitOrders, "fleet/orders/submit", self._submit)
        bridge.serve(CancelOrders, "fleet/orders/cancel", self._cancel)
        bridge.serve(GetOrders, "fleet/orders/status", self._status)
        bridge.diagnostics["orders"] = self._diagnose

    def publish(self, now: int) -> None:
        """Publish new orders and those that changed; when somebody has subscribed, all that have not ended."""
        if self._news is None:
            return
        before, self._listeners = self._listeners, self._publisher.get_subscription_count()
        if self._listeners > before:
            self._news.begin_anew()
        # Without listeners it collects what changed, each order once; the next listener is told anew.
        if self._listeners:
            for status in self._news.take(MOST_TOLD):
                self._publisher.publish(status_to_msg(status, now))

    def on_reset(self) -> None:
        """Drop queued changes and publish the current orders."""
        if self._news is not None:
            self._news.begin_anew()

    async def _submit(self, request: Any, response: Any) -> None:
        entries = request.orders
        response.result = await self._apply(
            lambda: desks.SubmitOrders(orders=tuple(map(order_from_msg, _few(entries))), source="fleet/orders/submit")
        )

    async def _cancel(self, request: Any, response: Any) -> None:
        source = "fleet/orders/cancel"
        response.result = await self._apply(
            lambda: desks.CancelOrders(ids=tuple(_few(request.ids)), reason=request.reason, source=source)
        )

    async def _apply(self, make: Any) -> CommandResult:
        """Carry out the command that `make` returns; every refusal is in the result, and logged."""
        try:
            ack = await self.bridge.carry_out(make)
        except FleetSimError as error:
            self.bridge.reject("fleet/orders", error)
            return ack_to_msg(CommandAck(), self.bridge.time.last, str(error))
        for name, reason in ack.rejected.items():
            self.bridge.reject(f"fleet/orders {name}", reason)
        return ack_to_msg(ack, self.bridge.time.last)

    async def _status(self, request: Any, response: Any) -> None:
        statuses, response.count = await self.bridge.read(lambda: self._look(request))
        response.orders = [status_to_msg(status, self.bridge.time.last) for status in statuses]

    def _look(self, request: Any) -> tuple[list[desks.OrderStatus], int]:
        assert self._desk is not None
        orders = self._desk.orders
        names = _few(request.ids) or orders.names[request.first : request.first + MOST]
        return [orders.status(name) for name in names], len(orders)

    def _diagnose(self) -> Diagnosis | None:
        """Return how many orders are in which state; something is wrong where robots have no energy."""
        assert self._desk is not None
        if not self._desk.is_open:
            return None
        orders, table = self._desk.orders, self._desk.table
        world, no_energy = self.bridge.sim.world, desks.RobotState.OUT.code
        out = [world.label(row) for row in table.among(world.rows).tolist() if table.state[row] == no_energy]
        named = ", ".join(out[:MOST_NAMED]) + (", ..." if len(out) > MOST_NAMED else "")
        return f"no energy: {named}" if out else "", {**orders.totals, "robots_without_energy": len(out)}


def _few(values: list[Any]) -> list[Any]:
    """Return `values`; raises InvalidValueError for more than a request may have."""
    if len(values) > MOST:
        raise InvalidValueError(f"expected at most {MOST} in a request, got {len(values)}; send several")
    return values
