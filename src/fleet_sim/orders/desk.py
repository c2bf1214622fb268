"""The place of orders in a simulation: there from the first use of the feature on, with or without a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.commands import Command
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.world import World
from fleet_sim.errors import FleetSimError, InvalidValueError, StateError, StateFileError, brief
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.commands import CancelOrders, SetStationsOpen, SubmitOrders
from fleet_sim.orders.order import LONGEST_ID
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
        return self._ack(command, accepted, rejected)

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
        return self._ack(command, accepted, rejected)

    def _ack(self, command: Command, accepted: list[str], rejected: dict[str, str]) -> CommandAck:
        return CommandAck(command.command_id, command.source, self.world.clock.time, tuple(accepted), rejected)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def measure(self, dt: float) -> None:
        """Add up what robots did in a step."""
        if self._orders is not None:
            self._orders.odometer.run(dt)

    def removed(self, rows: Rows) -> None:
        """Hear that entities are about to be removed."""
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
