"""McapFile: a recording while it is written, beside its name, in chunks that are whole at any moment."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from fleet_sim.apps.record.message_types import check_installed, definition
from fleet_sim.base.arrays import AnyArray, Ints
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import check_target, exists, opened, part_beside, put_in_place, refusals, remove

CHUNK = 16_000_000
"""Bytes before compression that a chunk has at most: an eighth less to write than in chunks of 1 MB, as more repeats,
and each has an index with all its topics. Who flushes says how old one may be."""
MOST_CHANNELS = 65_535


@dataclass(frozen=True)
class Qos:
    """The quality of service that a topic is played back with."""

    depth: int = 10
    latched: bool = False
    """Whether who subscribes later gets the last message at once."""

    def as_yaml(self) -> str:
        """Return it as recordings of rosbag2 have it, in the metadata `offered_qos_profiles` of a channel."""
        lines = (
            "- history: keep_last",
            f"  depth: {self.depth}",
            "  reliability: reliable",
            f"  durability: {'transient_local' if self.latched else 'volatile'}",
            *(f"  {name}: {{sec: 9223372036, nsec: 854775807}}" for name in ("deadline", "lifespan")),
            "  liveliness: automatic",
            "  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}",
            "  avoid_ros_namespace_conventions: false",
        )
        return "\n".join(lines) + "\n"


@cache
def _about(qos: Qos) -> Mapping[str, str]:
    """Return the metadata of channels of a quality of service."""
    return {"offered_qos_profiles": qos.as_yaml()}


STATE, LATCHED = Qos(), Qos(depth=1, latched=True)


def open_part(path: str | Path, part: Path | None = None) -> BinaryIO:
    """Return the file, open and empty, that is written until `path` is whole.

    Raises InvalidValueError where it is there or cannot be made.
    """
    path, part = Path(path), part or part_beside(path)
    check_target(path)
    if exists(part):
        raise InvalidValueError(
            f"{part} is there: another recording is at work, or a run was killed. What it has so far can be "
            f"read: make it whole with `fleet-sim replay {part} --repair {path}`, or remove it"
        )
    with refusals(path):
        # Never one that is there: it may be all that is left of a run that was killed, or another's at work.
        return opened(part, "xb")


class McapFile:
    """An MCAP file of ROS 2 messages. It has its name from `finish` on; until then it is beside it, ending in `.part`.

    After `flush`, whatever was written survives the end of the process. For one thread. Raises InvalidValueError where
    the system refuses to write, MissingDependencyError without the extra `record`.
    """

    def __init__(self, path: str | Path, *, part: Path | None = None, stream: BinaryIO | None = None) -> None:
        """Begin the file.

        `part` is another name for what is written until `finish`, `stream` what `open_part` has returned for it.
        """
        check_installed()
        self.path, self.part = Path(path), part or part_beside(path)
        self._stream = stream or open_part(path, self.part)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._whole = 0
        """Up to where the file is whole, in bytes: what follows belongs to something that is being written."""
        with of_extra("mcap", "record", "a recording"):
            from mcap.writer import Writer
        # A checksum of all: only that covers metadata, and the kinds of records.
        self._writer: Any = Writer(self._stream, CHUNK, enable_data_crcs=True)
        with refusals(path):
            self._writer.start("ros2", "fleet_sim")

    def channel(self, topic: str, kind: str, qos: Qos) -> int:
        """Return the number of the channel of `topic`, made at the first call."""
        known = self._channels.get(topic)
        if known is not None:
            return known
        return self.copied_channel(topic, kind, definition(kind).encode(), _about(qos))

    def copied_channel(self, topic: str, kind: str, text: bytes, about: Mapping[str, str]) -> int:
        """Return the number of the channel of `topic`, as it is in another file; `text` describes its type."""
        if topic not in self._channels:
            if len(self._channels) == MOST_CHANNELS:
                raise InvalidValueError(f"more than {MOST_CHANNELS} topics, which an MCAP file cannot have: {topic}")
            with refusals(self.path):
                if kind not in self._schemas:
                    self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", text)
                self._channels[topic] = self._writer.register_channel(topic, "cdr", self._schemas[kind], dict(about))
        return self._channels[topic]

    def write(self, channel: int, now: int, data: bytes | memoryview) -> None:
        """Add a message of the time `now` in ns; raises InvalidValueError where a full chunk cannot be written."""
        try:
            self._writer.add_message(channel, now, data, now)
        except OSError as error:
            # Not `refusals`, which costs as much as the message does.
            raise InvalidValueError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def write_all(self, channels: Ints, now: int, data: AnyArray) -> None:
        """Add messages of equal length, one for each of `channels` (K,), with the bytes `data` (K, L)."""
        for channel, row in zip(channels.tolist(), data, strict=True):
            self.write(channel, now, row.data)

    def describe(self, name: str, values: Mapping[str, str]) -> None:
        """Add texts about the recording."""
        with refusals(self.path):
            self._writer.add_metadata(name, dict(values))

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Add a whole file."""
        with refusals(self.path):
            self._writer.add_attachment(0, 0, name, media_type, data)

    def flush(self) -> None:
        """Write what was added since the last call as a chunk."""
        with refusals(self.path):
            self._writer.flush()
            self._whole = self._stream.tell()

    def finish(self) -> None:
        """Write the index and give the file its name."""
        with refusals(self.path):
            self._writer.finish()
            self._stream.close()
            put_in_place(self.part, self.path)

    def abandon(self, *, kept: bool) -> None:
        """Close it after an error. Where it is `kept`, what was flushed stays beside the name, up to the last chunk."""
        # What was left to write may not fit; it is what is cut off.
        with contextlib.suppress(OSError):
            self._stream.close()
        with refusals(self.path):
            if kept and self._whole:
                with opened(self.part, "r+b") as stream:
                    stream.truncate(self._whole)
            else:
                remove(self.part)
