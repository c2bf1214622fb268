"""What a run gives to the process that writes, besides samples: pickled objects, for what changes rarely.

Both processes are of one user and run the same code; nothing of this is ever in a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleet_sim.kinematics.tf_tree import FrameLink
    from fleet_sim.sensors.sensor import SensorParams

SAMPLE, OBJECT, PIECE = 0, 1, 2
"""Kinds of records: a sample; a pickled object; a piece of one that is too long for the ring, whose rest follows."""


@dataclass(frozen=True)
class Description:
    """Texts about the recording."""

    name: str
    values: dict[str, str]


@dataclass(frozen=True)
class AttachedFile:
    """A whole file in the recording."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class ChangedOrders:
    """The statuses of the orders that changed, for the next sample."""

    statuses: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SensorEntry:
    """A sensor as recordings have it: its kind, its topic, its frame and those that it refers to."""

    kind: str
    topic: str
    frame: str
    """What its readings are in; of a camera, the frame of its pictures."""
    links: tuple[FrameLink, ...]
    """Where its frames are."""
    reference: str
    """What its odometry is given in."""
    params: SensorParams
    period: float
    """Between two readings, in s."""


@dataclass(frozen=True, eq=False)
class SensorList:
    """All sensors that are recorded from now on."""

    entries: tuple[SensorEntry, ...]


@dataclass(frozen=True, eq=False)
class SensorReadings:
    """Readings of the time `now` in ns: of the sensors `numbers` of the list, values by name, aligned with them."""

    now: int
    numbers: tuple[int, ...]
    values: Mapping[str, Sequence[Any]]
