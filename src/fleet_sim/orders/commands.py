"""Commands to the orders of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fleet_sim.core.commands import COMMANDS, Command


@COMMANDS.register("submit_orders")
@dataclass(frozen=True, kw_only=True, eq=False)
class SubmitOrders(Command):
    """Submit orders, each by its settings. The acknowledgement has the ids of those accepted.

    The refused ones are named by their id, or as "orders[2]", the third of them, where they have none that is free.
    """

    feature: ClassVar[str] = "orders"

    orders: tuple[Mapping[str, Any], ...]


@COMMANDS.register("cancel_orders")
@dataclass(frozen=True, kw_only=True, eq=False)
class CancelOrders(Command):
    """Cancel orders by their ids."""

    feature: ClassVar[str] = "orders"

    ids: tuple[str, ...]
    reason: str = "cancelled"


@COMMANDS.register("set_stations_open")
@dataclass(frozen=True, kw_only=True, eq=False)
class SetStationsOpen(Command):
    """Close stations (`open=False`), or open them again."""

    feature: ClassVar[str] = "orders"

    stations: tuple[str, ...]
    open: bool = True
