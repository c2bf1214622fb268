"""Commands to the orders of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fleet_sim.core.commands import Command, command


@command("submit_orders")
class SubmitOrders(Command):
    """Submit orders, each by its settings. The acknowledgement has the ids of those accepted.

    The refused ones are named by their id, or as "orders[2]", the third of them, where they have none that is free.
    """

    feature: ClassVar[str] = "orders"

    orders: tuple[Mapping[str, Any], ...]


@command("cancel_orders")
class CancelOrders(Command):
    """Cancel orders by their ids."""

    feature: ClassVar[str] = "orders"

    ids: tuple[str, ...]
    reason: str = "cancelled"


@command("set_stations_open")
class SetStationsOpen(Command):
    """Close stations (`open=False`), or open them again."""

    feature: ClassVar[str] = "orders"

    stations: tuple[str, ...]
    open: bool = True
