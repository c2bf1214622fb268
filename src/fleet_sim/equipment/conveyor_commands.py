"""Commands to conveyors."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("run_conveyors")
class RunConveyors(Command):
    """Let conveyors run, or stand (`running=False`); `speed` in m/s, None: as before."""

    feature: ClassVar[str] = "conveyor"

    names: tuple[str, ...]
    running: bool = True
    speed: float | None = None
