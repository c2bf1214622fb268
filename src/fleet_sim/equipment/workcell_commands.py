"""Commands to work cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fleet_sim.core.commands import COMMANDS, Command


@COMMANDS.register("serve_robot")
@dataclass(frozen=True, kw_only=True, eq=False)
class ServeRobot(Command):
    """Let a work cell give its object to the nearest of `robots`, or take what that brings.

    The same `request` again is answered again, and nothing else happens.
    """

    feature: ClassVar[str] = "workcell"

    cell: str
    robots: tuple[str, ...]
    request: str = ""
