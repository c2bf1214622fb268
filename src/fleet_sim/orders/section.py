"""The section `orders` of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.config.sections import SettingsSection
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.equipment.storeys import StoreyRouter
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.orders.book import OrderParts
from fleet_sim.orders.desk import OrderDesk
from fleet_sim.orders.order import Order
from fleet_sim.orders.order_building import OrderBuilding
from fleet_sim.orders.order_site import OrderSite
from fleet_sim.orders.orders import Orders
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.pods.pods import Pods
from fleet_sim.orders.pods.settings import PodsSettings
from fleet_sim.orders.settings import OrdersSettings
from fleet_sim.orders.sources.files import read_orders, read_task_orders
from fleet_sim.orders.transport import FleetTransport
from fleet_sim.paths import beside, is_file
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.traffic.traffic import Traffic


class OrdersSection(SettingsSection[MultiRobotSimulationCore]):
    """Lets the fleet of a scenario serve orders; `sim.get_manager("orders")` returns the Orders."""

    doc = "Orders between the stations of the site, and how robots serve them."
    name = "orders"
    settings_class = OrdersSettings

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Submit the orders of the section to the fleet; raises ConfigError naming the order."""
        settings: OrdersSettings = self.read(entry, source)
        try:
            orders = offer_orders(sim, settings)
        except FleetSimError as error:
            raise ConfigError.of(error).within("orders", source=source) from error
        # One by one, so that the error names the entry.
        for index, order in enumerate(settings.list):
            try:
                orders.submit(order)
            except FleetSimError as error:
                raise ConfigError.of(error).within(f"orders.list[{index}]", source=source) from error
        if settings.file is not None:
            path = _found(settings.file, "file", source)
            _submit_all(orders, read_orders(path), path)
        # Tasks are given in cells, so the site has to say where these are.
        if settings.tasks is not None:
            path = _found(settings.tasks, "tasks", source)
            _submit_all(orders, read_task_orders(path, orders.places.site.grid), path)


def _found(name: str, key: str, source: str) -> Path:
    path = Path(beside(source, name))
    if not is_file(path):
        raise ConfigError(f"there is no file {str(path)!r}", source=source, path=f"orders.{key}")
    return path


def _submit_all(orders: Orders, entries: Iterable[tuple[str, Order]], path: Path) -> None:
    for where, order in entries:
        try:
            orders.submit(order)
        except FleetSimError as error:
            raise ConfigError.of(error).within(where, source=str(path)) from error


def offer_orders(sim: MultiRobotSimulationCore, settings: OrdersSettings | None = None) -> Orders:
    """Let the robots of `sim` serve orders on its site; returns the Orders, which are also the manager "orders".

    `settings.list` is left aside: submit orders. Raises InvalidValueError without a site, DuplicateNameError where
    there are orders already, and what the allocator of `settings` raises.
    """
    chosen = OrdersSettings() if settings is None else settings
    places = _places(sim)
    desk: OrderDesk = sim.features.use("orders")
    traffic = partial(_traffic, sim)
    transport = FleetTransport(sim.world, traffic)
    # Whatever fails, no transport stays behind.
    try:
        orders = Orders(sim.world, desk.table, places, transport, chosen)
        if chosen.pods is not None:
            orders.pods = _pods(sim, desk, orders, traffic, chosen.pods)
        orders.begin_arrivals()
        sim.register_manager(orders, "orders")
    except BaseException:
        transport.close()
        raise
    if chosen.robot is not None:
        sim.features.give("orders", _without(sim, desk), chosen.robot)
    desk.open(orders)

    def leave() -> None:
        # With `sim.clear()` the building and its fleet are gone.
        desk.open(None)
        orders.close()
        sim.unregister_manager(orders)
        sim.events.off("cleared", leave)

    sim.events.on("cleared", leave)
    return orders


def _pods(
    sim: MultiRobotSimulationCore,
    desk: OrderDesk,
    orders: Orders,
    traffic: Callable[[], Traffic | None],
    settings: PodsSettings,
) -> Pods:
    """Return the pods of a scenario; raises ConfigError below the key `pods`."""
    chosen = orders.settings
    try:
        return Pods(
            OrderParts(sim.world, desk.table, orders.book, orders.places),
            *(orders.fleet, traffic),
            settings,
            chosen.allocation.period,
            chosen.retry_after,
        )
    except FleetSimError as error:
        raise ConfigError.of(error).within("pods", source="") from error


def _places(sim: MultiRobotSimulationCore) -> OrderPlaces:
    """Return where orders lead to; raises InvalidValueError that says what the scenario lacks."""
    router = sim.extensions.find_manager("router")
    # A building comes first: its router leads from storey to storey.
    if isinstance(router, StoreyRouter):
        return OrderBuilding(router)
    try:
        return OrderSite(sim.get_manager("site"), sim.get_manager("router"), partial(_traffic, sim))
    except UnknownNameError as error:
        reason = "orders lead to the stations of a site; add a section 'site' or 'building' to the scenario"
        raise InvalidValueError(reason) from error


def _traffic(sim: MultiRobotSimulationCore) -> Traffic | None:
    traffic: Traffic | None = sim.extensions.find_manager("traffic")
    return traffic


def _without(sim: MultiRobotSimulationCore, desk: OrderDesk) -> Rows:
    """Return the robots that can drive and have no settings for orders of their own."""
    world = sim.world
    rows = world.rows[(world.kind[world.rows] == KIND_AGENT) & ~desk.table.present[world.rows]]
    return np.array([row for row in rows.tolist() if world.handles[row].can_move], np.int64)


SECTION = OrdersSection()
