"""Topics of a recording: what turns samples of a simulation into messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.cdr import STAMP, ByteTemplate, MessagePart
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.record.mcap_file import STATE, McapFile, Qos
from fleet_sim.record.message_types import serializer

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
        self._keyframe = -1

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
