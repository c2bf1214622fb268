"""Commands to slotcars, each to one by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fleet_sim.core.commands import COMMANDS, Command
from fleet_sim.rmf.states import Pause, SlotcarMode, Waypoint


@COMMANDS.register("follow_waypoints")
@dataclass(frozen=True, kw_only=True, eq=False)
class FollowWaypoints(Command):
    """Follow a path, whose first waypoint is where the robot is. The same task again changes nothing."""

    feature: ClassVar[str] = "slotcar"

    robot: str
    task: str
    path: tuple[Waypoint, ...]


@COMMANDS.register("set_slotcar_mode")
@dataclass(frozen=True, kw_only=True, eq=False)
class SetSlotcarMode(Command):
    """Take a mode; `action` is what is to be performed in that of the same name."""

    feature: ClassVar[str] = "slotcar"

    robot: str
    mode: int = int(SlotcarMode.IDLE)
    request: int = 0
    action: str = ""


@COMMANDS.register("pause_slotcar")
@dataclass(frozen=True, kw_only=True, eq=False)
class PauseSlotcar(Command):
    """Pause at once, or from the waypoint with the index `checkpoint` on, or go on."""

    feature: ClassVar[str] = "slotcar"

    robot: str
    pause: int = int(Pause.IMMEDIATELY)
    request: int = 0
    checkpoint: int = 0
