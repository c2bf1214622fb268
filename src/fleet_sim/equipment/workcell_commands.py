"""Commands to work cells."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("serve_robot")
class ServeRobot(Command):
    """Let a work cell give its object to the nearest of `robots`, or take what that brings.

    The same `request` again is answered again, and nothing else happens.
    """

    feature: ClassVar[str] = "workcell"

    cell: str
    robots: tuple[str, ...]
    request: str = ""
