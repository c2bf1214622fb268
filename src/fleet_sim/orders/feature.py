"""The entry point of the feature, which `setup.cfg` declares: it connects orders to a simulation."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.arrays import Rows
from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System, each_step
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.commands import CancelOrders, SetStationsOpen, SubmitOrders
from fleet_sim.orders.desk import OrderDesk
from fleet_sim.orders.settings import OrderRobotSettings


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
