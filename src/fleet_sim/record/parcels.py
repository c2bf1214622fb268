"""What a run gives to the process that writes: samples as bytes, and pickled objects for what changes rarely.

Both processes are of one user and run the same code; nothing of this is ever in a file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.arrays import AnyArray
from fleet_sim.core.snapshot_taking import STATE, EntityRoster, GivenColors, StateArrays, snapshot_of
from fleet_sim.record.topic import Sample

if TYPE_CHECKING:
    from fleet_sim.sensors.sensor import SensorParams

SAMPLE, OBJECT, PIECE = 0, 1, 2
"""Kinds of records: a sample; a pickled object; a piece of one that is too long for the ring, whose rest follows."""

_HEAD = struct.Struct("<qqdqqqq")
"""Time in ns, tick, time in s, and how many entities, waypoints, joints and pairs there are."""


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
    parent: str
    """What it is mounted on, at `params.pose`."""
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


def sample_length(state: StateArrays) -> int:
    """Return how many bytes a sample has."""
    return _HEAD.size + sum(array.nbytes for array in state.values())


def write_sample(place: memoryview, now: int, tick: int, time: float, state: StateArrays) -> None:
    """Write a sample of the time `now` in ns to `place`."""
    counts = (len(state[name]) for name in ("positions", "path_positions", "joint_positions", "pairs"))
    _HEAD.pack_into(place, 0, now, tick, time, *counts)
    at = _HEAD.size
    for name in STATE:
        array = state[name]
        # Views of arrays without elements cannot be cast.
        if array.nbytes:
            place[at : at + array.nbytes] = array.data.cast("B")
            at += array.nbytes


def read_sample(data: bytes, roster: EntityRoster, colors: GivenColors, orders: tuple[Any, ...]) -> Sample:
    """Return the sample that `write_sample` wrote; its arrays are views of `data`. Features are not recorded."""
    now, tick, time, *counts = _HEAD.unpack_from(data, 0)
    at = _HEAD.size
    state = dict[str, AnyArray]()
    for name, (counted, shape, kind) in STATE.items():
        rows = counts[counted]
        state[name] = np.frombuffer(data, kind, rows * math.prod(shape), at).reshape(rows, *shape)
        at += state[name].nbytes
    return Sample(now, snapshot_of(state, roster, colors, tick=tick, time=time, features={}), orders)
