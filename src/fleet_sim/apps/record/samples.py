"""Samples of a run as bytes, and the memory through which they reach the process that writes the recording.

A sample has the arrays of STATE as they are; paths are left out where they are the arrays of the sample before.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fleet_sim.apps.record.message_types import STATE, McapFile, Qos, serializer
from fleet_sim.base.arrays import AnyArray, Ints
from fleet_sim.base.cdr import STAMP, ByteTemplate, MessagePart
from fleet_sim.base.scenario import FRAME_SCHEMA, NAMESPACE_SCHEMA, read_frame, read_namespace
from fleet_sim.base.settings import Checked, setting
from fleet_sim.world.commands import Frames
from fleet_sim.world.snapshot import STATE as SNAPSHOT_STATE
from fleet_sim.world.snapshot import EntityRoster, GivenColors, Snapshot, StateArrays, snapshot_of

if TYPE_CHECKING:
    from fleet_sim.models.kinematics.tree import FrameLink
    from fleet_sim.sensing.sensors.sensor import SensorParams


# What a run and the process that writes its recording say to each other, besides the records in the ring.


SIGNAL = struct.Struct("<qq")
"""To the process that writes: up to where there are records, and wishes."""
ASK, FINISH = 1, 2
"""Wishes: an answer when half of the ring is free; the file whole."""
ANSWER = struct.Struct("<qq")
"""From it: a kind, and a number."""
TAKEN, FAILED, FINISHED = 0, 1, 2
"""Kinds: up to where records were taken; how many bytes follow of the reason, the traceback and whether what was
written before is kept, pickled; the file has its name."""


# What a run gives to the process that writes, besides samples, is pickled tuples, for what changes rarely: a name that
# `RecordWriter` knows, and what belongs to it. Both processes are of one user and run the same code; nothing of this is
# ever in a file.


SAMPLE, OBJECT, PIECE = 0, 1, 2
"""Kinds of records: a sample; a pickled tuple; a piece of one that is too long for the ring, whose rest follows."""


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


# A ring of memory that two processes share: one puts records in, the other takes them out, in order. Positions count
# all bytes ever put in, so that the one who puts and the one who takes need to tell each other one number. Numbers go
# through a socket, which makes what was written before them visible to the other process on every kind of processor.
# The number in the memory itself is for the end: it tells how far a process came that was killed.


ALIGNMENT = 64
"""Records begin at multiples of it: arrays in them are aligned for any number."""
_POSITION = struct.Struct("<q")
_RECORD = struct.Struct("<qqq")
"""Length with this head and padding; kind; length of the content."""
_FILLER = -1


class RingSender:
    """Puts records in. Each is in one piece; `size` is that of the ring, without the memory it needs for itself."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self.size = (len(memory) - ALIGNMENT) // ALIGNMENT * ALIGNMENT
        self.head = 0
        """Up to where records are whole."""
        self.tail = 0
        """Up to where they were taken, as far as is known here."""

    @property
    def longest(self) -> int:
        """The length of records that always fit into half of it, wherever they begin."""
        return self.size // 8

    @property
    def is_half_full(self) -> bool:
        """Whether more than half of it waits to be taken."""
        return self.head - self.tail > self.size // 2

    def put(self, kind: int, pieces: Sequence[bytes | memoryview]) -> bool:
        """Put in a record of a kind, whose content is `pieces`; return False while there is no room for it."""
        length = sum(map(len, pieces))
        whole = _whole(length)
        place = self.head % self.size
        skipped = self.size - place if place + whole > self.size else 0
        if self.head + skipped + whole - self.tail > self.size:
            return False
        if skipped:
            _RECORD.pack_into(self._memory, ALIGNMENT + place, skipped, _FILLER, 0)
            place = 0
        begin = ALIGNMENT + place
        _RECORD.pack_into(self._memory, begin, whole, kind, length)
        begin += ALIGNMENT
        for piece in pieces:
            end = begin + len(piece)
            self._memory[begin:end] = piece
            begin = end
        self.head += skipped + whole
        # Only now: what is not whole is not there for the other process.
        _POSITION.pack_into(self._memory, 0, self.head)
        return True


class RingReceiver:
    """Takes records out."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self._size = (len(memory) - ALIGNMENT) // ALIGNMENT * ALIGNMENT
        self.tail = 0
        """Up to where records were taken."""

    @property
    def last_head(self) -> int:
        """Up to where records are whole; surely so where the other process has ended, or has long not written."""
        position: int = _POSITION.unpack_from(self._memory, 0)[0]
        return position

    def leaves_half(self, head: int) -> bool:
        """Return whether at least half of the ring is free, with records up to the position `head`."""
        return head - self.tail <= self._size // 2

    def take(self, head: int) -> Iterator[tuple[int, bytes]]:
        """Yield kind and content of the records up to the position `head`, as copies."""
        while self.tail < head:
            begin = ALIGNMENT + self.tail % self._size
            whole, kind, length = _RECORD.unpack_from(self._memory, begin)
            content = bytes(self._memory[begin + ALIGNMENT : begin + ALIGNMENT + length]) if kind != _FILLER else b""
            # Before it is used: who takes part of a record and stops does not get it twice.
            self.tail += whole
            if kind != _FILLER:
                yield kind, content


def _whole(length: int) -> int:
    """Return the length of a record with its head and padding, for a content of `length`."""
    return ALIGNMENT + length + -length % ALIGNMENT


# Topics of a recording: what turns samples of a simulation into messages.


KEYFRAME = 10
"""In s of simulated time: what changes rarely is written again after this, for players that begin later."""


@dataclass(frozen=True)
class Sample:
    """The state at one moment: `now` in ns, never less than that of the sample before."""

    now: int
    snapshot: Snapshot
    orders: tuple[Any, ...] = ()
    """What became of the orders that changed since the last sample, each an OrderStatus."""


class RecordedChannel:
    """One topic in a file, in the file from its first message on."""

    def __init__(self, file: McapFile, topic: str, kind: str, qos: Qos = STATE) -> None:
        self._file, self._topic, self._kind, self._qos = file, topic, kind, qos
        self._number = 0

    def send(self, now: int, data: bytes | memoryview) -> None:
        """Write the message `data`, CDR, which is copied."""
        if not self._number:
            self._number = self._file.channel(self._topic, self._kind, self._qos)
        self._file.write(self._number, now, data)

    def send_message(self, now: int, message: Any) -> None:
        """Write a message of our message types."""
        self.send(now, serializer(self._kind)(message))


class RecordedTopic(ABC):
    """Something that is recorded. For one thread; it reads samples only, never the simulation."""

    def __init__(self, file: McapFile, frames: Frames) -> None:
        self.file, self.frames = file, frames
        self._keyframe: int | None = None

    def on_bodies_changed(self, sample: Sample) -> None:  # noqa: B027  many have nothing to prepare
        """Prepare for the entities of `sample`: some were spawned, removed or renamed."""

    @abstractmethod
    def write(self, sample: Sample) -> None:
        """Write the messages of `sample`."""

    def is_keyframe(self, now: int) -> bool:
        """Return whether all should be written again, at most once for each stretch of KEYFRAME seconds."""
        number = now // (KEYFRAME * 1_000_000_000)
        due, self._keyframe = number != self._keyframe, number
        return due


def template(
    kind: str, messages: Sequence[Any], numbers: Mapping[str, tuple[str, Sequence[str]]], items: str = ""
) -> ByteTemplate:
    """Return the template of messages of a type: groups sec and nanosec of their headers, and `numbers`.

    Those are of the elements of the array `items`, or of the message itself.
    """
    if not items:
        return ByteTemplate(messages, [MessagePart({**STAMP, **numbers})], serializer(kind))
    parts = [MessagePart(STAMP), MessagePart(numbers, lambda message: getattr(message, items))]
    return ByteTemplate(messages, parts, serializer(kind))


def robots_of(snapshot: Snapshot) -> list[int]:
    """Return the indices of the robots."""
    indices: list[int] = snapshot.agent_mask.nonzero()[0].tolist()
    return indices


def names_of(snapshot: Snapshot, indices: Iterable[int]) -> list[str]:
    """Return the names of entities by index."""
    return [snapshot.names[index] for index in indices]


def places_of(indices: Sequence[int]) -> Ints | slice:
    """Return what selects `indices` of an array: a slice where they follow each other, which copies nothing."""
    first = indices[0] if indices else 0
    span = slice(first, first + len(indices))
    return span if list(indices) == list(range(span.start, span.stop)) else np.array(indices, np.int64)


_HEAD = struct.Struct("<qqdqqqq?7x")
"""Time in ns, tick, time in s, how many entities, waypoints, joints and pairs there are, and whether paths are those of
the sample before."""
_PATHS = ("path_positions", "path_orientations")
"""Arrays that a plan of thousands of waypoints makes longer than all others, and that change with it only."""
_COUNTED = ("positions", "path_positions", "joint_positions", "pairs")


class SampleEncoder:
    """Turns samples into bytes, of which each may have the paths of the one before."""

    def __init__(self) -> None:
        self._paths: tuple[AnyArray, ...] = ()

    def start_anew(self) -> None:
        """Have the next sample build on none: one was not taken."""
        self._paths = ()

    def pieces(self, now: int, tick: int, time: float, state: StateArrays) -> list[bytes | memoryview]:
        """Return what a sample of the time `now` in ns has, one after the other; it shares memory with `state`."""
        before, self._paths = self._paths, tuple(state[name] for name in _PATHS)
        # The same arrays, which nobody can have changed.
        same = bool(before) and all(
            one is other and not one.flags.writeable for one, other in zip(before, self._paths, strict=True)
        )
        arrays = [state[name] for name in SNAPSHOT_STATE if not (same and name in _PATHS)]
        head = _HEAD.pack(now, tick, time, *[len(state[name]) for name in _COUNTED], same)
        # Views of arrays without elements cannot be cast.
        return [head, *[array.data.cast("B") for array in arrays if array.nbytes]]


class SampleDecoder:
    """Reads what a SampleEncoder made, sample by sample."""

    def __init__(self) -> None:
        self._paths: dict[str, AnyArray] = {}

    def read(self, data: bytes, roster: EntityRoster, colors: GivenColors, orders: tuple[Any, ...]) -> Sample:
        """Return the sample in `data`, which must not change any more. Features are not recorded."""
        now, tick, time, *counts, same_paths = _HEAD.unpack_from(data, 0)
        at = _HEAD.size
        state = dict[str, AnyArray]()
        for name, (counted, shape, kind) in SNAPSHOT_STATE.items():
            rows = counts[counted]
            if same_paths and name in _PATHS:
                state[name] = self._paths[name]
            else:
                state[name] = np.frombuffer(data, kind, rows * math.prod(shape), at).reshape(rows, *shape)
                at += state[name].nbytes
        self._paths = {name: state[name] for name in _PATHS}
        return Sample(now, snapshot_of(state, roster, colors, tick=tick, time=time, features={}), orders)


# RecordParams: the settings of a recording.


OnFull = Literal["wait", "drop"]
PATH_PERIOD = 500_000_000
"""In ns of simulated time, between two looks at the paths."""


@dataclass(frozen=True)
class RecordParams(Checked):
    """What a recording holds, and what it does when writing is slower than the run. Checked when constructed."""

    rate: float | None = setting(
        10.0, above=0, unit="Hz", doc="Samples per simulated second, at most one per step; null: at each step."
    )
    on_full: OnFull = setting(
        "wait", doc="Where writing is too slow: the run waits, or samples are dropped and counted."
    )
    sensors: tuple[str, ...] = setting(
        (), doc="Kinds of sensors whose readings are recorded: camera, imu, lidar, odometry; or all alone."
    )
    largest: int | None = setting(
        None, low=1, unit="bytes", doc="The recording ends where its file has so many; null: only the disk ends it."
    )
    map_frame: str = setting("map", reader=read_frame, schema=FRAME_SCHEMA, doc="Name of the fixed frame.")
    namespace: str = setting(
        "/",
        reader=read_namespace,
        schema=NAMESPACE_SCHEMA,
        doc="What the names of frames begin with, as those of a node in a namespace do.",
    )
