"""Commands to conveyors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fleet_sim.core.commands import COMMANDS, Command


@COMMANDS.register("run_conveyors")
@dataclass(frozen=True, kw_only=True, eq=False)
class RunConveyors(Command):
    """Let conveyors run, or stand (`running=False`); `speed` in m/s, None: as before."""

    feature: ClassVar[str] = "conveyor"

    names: tuple[str, ...]
    running: bool = True
    speed: float | None = None
