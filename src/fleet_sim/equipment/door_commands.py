"""Commands to doors."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("move_doors")
class MoveDoors(Command):
    """Open doors, or close them (`open=False`), by their names."""

    feature: ClassVar[str] = "door"

    names: tuple[str, ...]
    open: bool = True
