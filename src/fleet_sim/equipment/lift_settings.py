"""Lifts as they are written down."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_EXTENT, LARGEST_SIZE, LARGEST_SPEED
from fleet_sim.settings import Checked, setting, time_setting


@dataclass(kw_only=True)
class LiftCabinSettings(Checked):
    """How the cabin of a lift moves."""

    speed: float = setting(2.0, low=0.01, high=LARGEST_SPEED, unit="m/s", doc="Largest speed of the cabin.")
    accel: float = setting(1.0, low=0.01, high=1e3, unit="m/s^2", doc="How fast the cabin speeds up and slows down.")
    dwell: float = time_setting(3.0, doc="How long its doors stay open after a call, if others wait.")


@dataclass
class LiftFloorSettings(Checked):
    """A floor that a lift goes to."""

    name: str = setting(doc="Name of the level.")
    height: float = setting(low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Height of its floor.")
    doors: list[str] | None = setting(None, doc="Doors that open there; null: all of the lift.")


@dataclass
class LiftDoorSettings(Checked):
    """A door of a lift, in the frame of the cabin, whose origin is its middle."""

    name: str = setting(doc="Unique in the lift.")
    x: float = setting(0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="Middle of the door.")
    y: float = setting(0.0, low=-LARGEST_SIZE, high=LARGEST_SIZE, unit="m", doc="Middle of the door.")
    width: float = setting(1.0, low=0.05, high=LARGEST_SIZE, unit="m", doc="Width of the passage.")


Floors = list[LiftFloorSettings]
Ways = list[LiftDoorSettings]


@dataclass
class LiftSettings(LiftCabinSettings):
    """A lift: a cabin that goes between floors, with doors of its own and doors in front of it."""

    name: str = setting(doc="Unique name.")
    position: tuple[float, float] = setting(
        low=-LARGEST_EXTENT, high=LARGEST_EXTENT, unit="m", doc="Middle of the cabin."
    )
    floors: Floors = setting(doc="The floors it goes to.")
    doors: Ways = setting(doc="Its doors.")
    yaw: float = setting(0.0, low=-6.2832, high=6.2832, unit="rad", doc="How it is turned.")
    width: float = setting(2.0, low=0.1, high=LARGEST_SIZE, unit="m", doc="Along its own x axis.")
    depth: float = setting(2.0, low=0.1, high=LARGEST_SIZE, unit="m", doc="Along its own y axis.")
    height: float = setting(2.2, low=0.1, high=LARGEST_SIZE, unit="m", doc="Of the cabin.")
    initial: str | None = setting(None, doc="Floor where it is at first; null: the first one.")
    door_time: float = time_setting(3.0, low=0.05, doc="Its doors take this to open.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, names in (("floors", [f.name for f in self.floors]), ("doors", [d.name for d in self.doors])):
            if not names:
                raise InvalidValueError(f"{what}: lift {self.name!r} has none; it needs one at least")
            name, times = Counter(names).most_common(1)[0]
            if times > 1:
                raise InvalidValueError(f"{what}: {times} of lift {self.name!r} are named {name!r}")
        known = [door.name for door in self.doors]
        for floor in self.floors:
            for name in floor.doors or ():
                if name not in known:
                    raise InvalidValueError(
                        f"floors: {floor.name!r} has no door {name!r}; there are {', '.join(known)}"
                    )
        if self.initial is not None and self.initial not in [floor.name for floor in self.floors]:
            raise InvalidValueError(f"initial: lift {self.name!r} has no floor {self.initial!r}")


Entries = list[LiftSettings]


@dataclass
class LiftsSettings(Checked):
    """The lifts of a scenario."""

    list: Entries = setting(factory=lambda: [], doc="Lifts.")
