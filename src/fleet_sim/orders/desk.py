"""The place of orders in a simulation: there from the first use of the feature on, with or without a site."""

from __future__ import annotations

from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.world import World
from fleet_sim.errors import StateError
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.orders import Orders


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

    def open(self, orders: Orders | None) -> None:
        """Run `orders` from now on, or none."""
        self._orders = orders

    def run(self) -> None:
        """Do what is due."""
        if self._orders is not None:
            self._orders.run()

    def removed(self, rows: Rows) -> None:
        """Hear that entities are about to be removed."""
        if self._orders is not None:
            self._orders.removed(rows)

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return None if self._orders is None else (self._orders, self._orders.save())

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned; a state from before there were orders has none."""
        self._orders = None
        if saved is not None:
            self._orders, state = saved
            self._orders.restore(state)
