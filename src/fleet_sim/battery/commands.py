"""Commands to batteries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fleet_sim.core.commands import COMMANDS, Command


@COMMANDS.register("set_charging")
@dataclass(frozen=True, kw_only=True, eq=False)
class SetCharging(Command):
    """Connect batteries to a charger, or disconnect them (`charging=False`)."""

    feature: ClassVar[str] = "battery"

    names: tuple[str, ...]
    charging: bool = True
