"""The settings under `vda5050:`, in a scenario and in the entry of a robot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fleet_sim.config.modes import Mode
from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.settings import Checked, setting

PATTERN = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
LARGEST_INTEGER = 2**53
"""Larger integers are not exact in all readers of JSON; as texts they are."""


def read_level(value: object) -> str:
    """Return a text that may stand in a topic; raises InvalidValueError."""
    if isinstance(value, float) and abs(value) <= LARGEST_INTEGER and value.is_integer():
        # To JSON 3.0 is 3.
        value = int(value)
    beyond = isinstance(value, int) and abs(value) > LARGEST_INTEGER
    if isinstance(value, (str, int)) and not isinstance(value, bool) and not beyond and PATTERN.fullmatch(str(value)):
        return str(value)
    raise InvalidValueError(f"must be made of A-Z a-z 0-9 _ - . :, up to 100 of them, got {brief(value)}")


def read_serials(value: object) -> dict[str, str]:
    """Return serial numbers by robot; raises InvalidValueError."""
    if not isinstance(value, dict):
        raise InvalidValueError(f"must be a mapping of robots to serial numbers, got {brief(value)}")
    serials = {str(name): read_level(serial) for name, serial in value.items()}
    if len(set(serials.values())) < len(serials):
        raise InvalidValueError("must be different for each robot")
    return serials


class StandardVersion(Mode):
    """A version of the standard."""

    SECOND = "2.0"
    SECOND_ONE = "2.1"
    THIRD = "3.0"


def read_version(value: object) -> StandardVersion:
    """Return the version in a file, where 2.0 is a number."""
    return value if isinstance(value, StandardVersion) else StandardVersion(str(value))


_VERSION_SCHEMA = {"enum": ["2.0", "2.1", "3.0", 2.0, 2.1, 3.0]}
_LEVEL_SCHEMA = {
    "type": ["string", "integer"],
    # In Python a dollar alone also stands before a last line break.
    "pattern": f"^{PATTERN.pattern}$(?!\\n)",
    "minimum": -LARGEST_INTEGER,
    "maximum": LARGEST_INTEGER,
}


class PositionPolicy(Mode):
    """What the action initPosition does: place the robot there, or only confirm that it stands there."""

    PLACE = "place"
    CONFIRM = "confirm"


@dataclass
class MapSettings(Checked):
    """A map that vehicles have, or can be told to download."""

    id: str = setting("map", reader=read_level, schema=_LEVEL_SCHEMA, doc="Its mapId.")
    version: str = setting("1", reader=read_level, schema=_LEVEL_SCHEMA, doc="Its mapVersion.")
    status: str = setting(
        "enabled",
        reader=lambda value: _one_of(value, ("enabled", "disabled", "on_server")),
        schema={"enum": ["enabled", "disabled", "on_server"]},
        doc="What it is at first: enabled, disabled, or on_server, from where the action downloadMap gets it.",
    )


def _one_of(value: object, words: tuple[str, ...]) -> str:
    if value not in words:
        raise InvalidValueError(f"must be one of {', '.join(words)}, got {brief(value)}")
    return str(value)


Names = list[str]
Maps = list[MapSettings]


@dataclass
class VehicleFleetSettings(Checked):
    """Robots of one maker that speak one version."""

    robots: Names | str = setting(
        "all", doc="all that can drive, or a list of names; * stands for any characters, as in forklift_*."
    )
    version: StandardVersion | str | float = setting(
        StandardVersion.SECOND_ONE, reader=read_version, schema=_VERSION_SCHEMA, doc="2.0, 2.1 or 3.0."
    )
    interface_name: str = setting("uagv", reader=read_level, schema=_LEVEL_SCHEMA, doc="First level of its topics.")
    manufacturer: str = setting("fleet_sim", reader=read_level, schema=_LEVEL_SCHEMA, doc="Third level of its topics.")
    serial_numbers: dict[str, str] = setting(
        factory=dict,
        reader=read_serials,
        schema={"type": "object", "additionalProperties": _LEVEL_SCHEMA},
        doc="Serial numbers by robot; that of others is the robot's name.",
    )
    state_interval: float = setting(
        30.0, low=0.01, high=30.0, unit="s", doc="Longest time between two states; more are sent on changes."
    )
    visualization_rate: float = setting(
        0.0, low=0.0, high=1000.0, unit="Hz", doc="Of the topic visualization, per simulated second; 0: never."
    )
    maps: Maps = setting(
        factory=lambda: [MapSettings()], doc="Maps. The first enabled one is where the vehicles are at first."
    )
    node_tolerance: float = setting(
        0.3, low=0.0, high=100.0, unit="m", doc="From the first node of an order that allows no deviation."
    )
    heading_tolerance: float = setting(
        0.02, low=0.0, high=3.15, unit="rad", doc="From the theta of a node that allows no deviation."
    )
    init_position: PositionPolicy = setting(
        PositionPolicy.PLACE, doc="initPosition puts the robot there (place), or only confirms where it is (confirm)."
    )
    pick_time: float = setting(3.0, low=0.0, high=1e5, unit="s", doc="How long pick takes.")
    drop_time: float = setting(3.0, low=0.0, high=1e5, unit="s", doc="How long drop takes.")
    reach: float = setting(1.0, low=0.0, high=100.0, unit="m", doc="How far from the robot pick finds a load.")
    actions: dict[str, Any] = setting(
        factory=dict, doc="Further actions by actionType: package.module:Class, of a VehicleAction."
    )


Fleets = list[VehicleFleetSettings]


@dataclass
class Vda5050Settings(Checked):
    """Which robots are driven by a master control, as fleets. A robot is of the first fleet that names it."""

    fleets: Fleets = setting(factory=lambda: [VehicleFleetSettings()], doc="Robots of one maker and version each.")


@dataclass
class Vda5050RobotSettings(Checked):
    """What holds for one robot: the key `vda5050` of its entry."""

    enabled: bool = setting(True, doc="Whether a master control drives it.")
