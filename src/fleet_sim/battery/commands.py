"""Commands to batteries."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("set_charging")
class SetCharging(Command):
    """Connect batteries to a charger, or disconnect them (`charging=False`)."""

    feature: ClassVar[str] = "battery"

    names: tuple[str, ...]
    charging: bool = True
