"""Doors as they are written down: in a scenario, in the entry of an object, and in Python."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fleet_sim.config.modes import Mode
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_EXTENT, LARGEST_SIZE
from fleet_sim.settings import Checked, setting, time_setting
from fleet_sim.spatial import trigonometry as trig

NARROWEST = 0.05
"""The narrowest passage in m."""


class DoorKind(Mode):
    """How a door opens: its leaf slides or swings; `double` ones have two leaves that part in the middle."""

    SLIDING = "sliding"
    DOUBLE_SLIDING = "double_sliding"
    SWING = "swing"
    DOUBLE_SWING = "double_swing"

    @property
    def is_double(self) -> bool:
        """Whether it has two leaves."""
        return self in (DoorKind.DOUBLE_SLIDING, DoorKind.DOUBLE_SWING)

    @property
    def swings(self) -> bool:
        """Whether its leaves turn."""
        return self in (DoorKind.SWING, DoorKind.DOUBLE_SWING)


class DoorMode(Mode):
    """What a door is at present."""

    CLOSED = "closed"
    MOVING = "moving"
    OPEN = "open"


@dataclass(kw_only=True)
class DoorMotion(Checked):
    """How a door moves, as its leaves and whole doors are told."""

    time: float = time_setting(3.0, low=0.05, doc="From closed to open.")
    open: bool = setting(False, doc="Whether it is open at first.")
    automatic: float = setting(
        0.0, low=0.0, high=LARGEST_EXTENT, unit="m", doc="Robots this near on its floor open it; 0: by commands only."
    )
    hold: float = time_setting(2.0, doc="How long it stays open when no robot is near any more.")
    guarded: bool = setting(True, doc="Whether it waits to close while a body is in its way.")


@dataclass
class DoorLeafSettings(DoorMotion):
    """A leaf: an object that moves between the pose it is spawned at, where it is closed, and another one."""

    slide: float = setting(
        0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="How far it slides along its own x axis to be open."
    )
    swing: float = setting(0.0, low=-math.pi, high=math.pi, unit="rad", doc="How far it turns to be open.")
    hinge: float = setting(
        0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="Where on its x axis it turns; 0: about its origin."
    )


@dataclass
class DoorSettings(DoorMotion):
    """A door in the passage between two points."""

    name: str = setting(doc="Unique name; the second leaf of a double one is called <name>_b.")
    begin: tuple[float, float] = setting(
        low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="One end: single leaves have their hinge there."
    )
    end: tuple[float, float] = setting(
        low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="The other end: single leaves slide away from it."
    )
    kind: DoorKind = setting(DoorKind.SLIDING, doc="How it opens.")
    floor: float = setting(0.0, low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Height of the floor there.")
    height: float = setting(2.2, above=0.0, high=LARGEST_SIZE, unit="m", doc="How tall it is.")
    thickness: float = setting(0.05, above=0.0, high=10.0, unit="m", doc="Of its leaves.")
    degrees: float = setting(90.0, low=1.0, high=180.0, unit="deg", doc="How far leaves swing.")
    direction: int = setting(
        1, low=-1, high=1, doc="1: leaves swing to the left, seen from begin to end; -1: to the right."
    )
    ratio: float = setting(
        1.0, low=0.01, high=100.0, doc="Width of the leaf at `end` by that of the one at `begin`, of a double door."
    )
    color: tuple[float, float, float, float] = setting(
        (0.55, 0.36, 0.2, 1.0), low=0.0, high=1.0, doc="Red, green, blue and opacity."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < NARROWEST:
            raise InvalidValueError(
                f"begin and end: they are {self.width:g} m apart; a passage has {NARROWEST:g} m or more"
            )
        if self.direction == 0:
            raise InvalidValueError("direction: must be 1 or -1, got 0")

    @property
    def width(self) -> float:
        """Width of the passage in m."""
        return trig.hypot_of(self.end[0] - self.begin[0], self.end[1] - self.begin[1])


Entries = list[DoorSettings]


@dataclass
class DoorsSettings(Checked):
    """The doors of a scenario."""

    site: bool = setting(True, doc="Whether the doors that the site describes are built.")
    time: float = time_setting(3.0, low=0.05, doc="`time` of the doors of the site.")
    automatic: float = setting(0.0, low=0.0, high=LARGEST_EXTENT, unit="m", doc="`automatic` of the doors of the site.")
    list: Entries = setting(factory=lambda: [], doc="More doors.")
