"""Commands to doors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fleet_sim.core.commands import COMMANDS, Command


@COMMANDS.register("move_doors")
@dataclass(frozen=True, kw_only=True, eq=False)
class MoveDoors(Command):
    """Open doors, or close them (`open=False`), by their names."""

    feature: ClassVar[str] = "door"

    names: tuple[str, ...]
    open: bool = True
