"""What a slotcar does, where it is sent to, and how it is paused; the numbers are those of Open-RMF's messages."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class SlotcarMode(IntEnum):
    """What a slotcar does at present."""

    IDLE = 0
    CHARGING = 1
    MOVING = 2
    PAUSED = 3
    WAITING = 4
    EMERGENCY = 5
    GOING_HOME = 6
    DOCKING = 7
    ADAPTER_ERROR = 8
    CLEANING = 9
    PERFORMING_ACTION = 10
    ACTION_COMPLETED = 11


class Pause(IntEnum):
    """Whether a slotcar is to stand still."""

    IMMEDIATELY = 0
    AT_CHECKPOINT = 1
    RESUME = 2


class Waypoint(NamedTuple):
    """A place to go to: x, y in m and yaw in rad, when it is expected there, and how fast it may come there."""

    x: float
    y: float
    yaw: float = 0.0
    time: int = 0
    """In ns, as the request says it; it is told again, and nothing waits for it."""
    limit: float = 0.0
    """In m/s, of the way there; 0: none."""
    obeys: bool = False
    """Whether `limit` counts."""
    level: str = ""
    number: int = 0
