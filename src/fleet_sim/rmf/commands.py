"""Commands to slotcars and chargers, each to one by its name."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command
from fleet_sim.rmf.states import Pause, SlotcarMode, Waypoint


class SlotcarCommand(Command):
    """Base of the commands that the feature `slotcar` carries out."""

    feature: ClassVar[str] = "slotcar"


@command("follow_waypoints")
class FollowWaypoints(SlotcarCommand):
    """Follow a path, whose first waypoint is where the robot is. The same task again changes nothing."""

    robot: str
    task: str
    path: tuple[Waypoint, ...]


@command("set_slotcar_mode")
class SetSlotcarMode(SlotcarCommand):
    """Take a mode; `action` is what is to be performed in that of the same name."""

    robot: str
    mode: int = int(SlotcarMode.IDLE)
    request: int = 0
    action: str = ""


@command("pause_slotcar")
class PauseSlotcar(SlotcarCommand):
    """Pause at once, or from the waypoint with the index `checkpoint` on, or go on."""

    robot: str
    pause: int = int(Pause.IMMEDIATELY)
    request: int = 0
    checkpoint: int = 0


@command("request_charge")
class RequestCharge(SlotcarCommand):
    """Keep a charger for a robot, which has `timeout` s to come, 0: no limit. The same request changes nothing."""

    charger: str
    robot: str
    fleet: str = ""
    request: str = ""
    timeout: float = 0.0


@command("cancel_charge")
class CancelCharge(SlotcarCommand):
    """End the charge that a request began, or give up the robot that it waits for."""

    charger: str
    request: str
