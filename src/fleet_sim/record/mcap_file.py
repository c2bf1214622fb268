"""McapFile: a recording while it is written, beside its name, in chunks that are whole at any moment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.output import check_target, part_beside, put_in_place, refusals
from fleet_sim.record.mcap_chunks import McapChunks
from fleet_sim.record.message_types import check_installed, definition

PROFILE = "ros2"


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
    if part.exists():
        raise InvalidValueError(
            f"{part} is there: another recording is at work, or a run was killed. What it has so far can be "
            f"read: make it whole with `fleet-sim replay {part} --repair {path}`, or remove it"
        )
    with refusals(path):
        # Never one that is there: it may be all that is left of a run that was killed, or another's at work.
        return part.open("xb")


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
        with refusals(path):
            self._records = McapChunks(self._stream, PROFILE, "fleet_sim")

    def channel(self, topic: str, kind: str, qos: Qos) -> int:
        """Return the number of the channel of `topic`, made at the first call."""
        known = self._channels.get(topic)
        if known is not None:
            return known
        return self.copied_channel(topic, kind, definition(kind).encode(), _about(qos))

    def copied_channel(self, topic: str, kind: str, text: bytes, about: Mapping[str, str]) -> int:
        """Return the number of the channel of `topic`, as it is in another file; `text` describes its type."""
        if topic not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._records.add_schema(kind, "ros2msg", text)
            self._channels[topic] = self._records.add_channel(topic, "cdr", self._schemas[kind], about)
        return self._channels[topic]

    def write(self, channel: int, now: int, data: bytes | memoryview) -> None:
        """Add a message of the time `now` in ns; raises InvalidValueError where a full chunk cannot be written."""
        try:
            self._records.add_message(channel, now, data)
        except OSError as error:
            # Not `refusals`, which costs as much as the message does.
            raise InvalidValueError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def write_all(self, channels: Ints, now: int, data: AnyArray) -> None:
        """Add messages of equal length, one for each of `channels` (K,), with the bytes `data` (K, L)."""
        with refusals(self.path):
            self._records.add_messages(channels, now, data)

    def describe(self, name: str, values: Mapping[str, str]) -> None:
        """Add texts about the recording."""
        with refusals(self.path):
            self._records.add_metadata(name, values)

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Add a whole file."""
        with refusals(self.path):
            self._records.add_attachment(name, media_type, data)

    def flush(self) -> None:
        """Write what was added since the last call as a chunk."""
        with refusals(self.path):
            self._records.flush()

    def finish(self) -> None:
        """Write the index and give the file its name."""
        with refusals(self.path):
            self._records.finish()
            self._stream.close()
            put_in_place(self.part, self.path)

    def abandon(self) -> None:
        """Leave what was flushed beside the name, after an error; whatever follows the last whole chunk is cut off."""
        self._records.close()
        with refusals(self.path):
            try:
                self._stream.close()
            except OSError:
                # What was left to write does not fit; it is what is cut off.
                pass
            finally:
                os.truncate(self.part, self._records.whole)
        # Not even its first chunk is whole: there is nothing to keep.
        if not self._records.whole:
            self.part.unlink(missing_ok=True)
