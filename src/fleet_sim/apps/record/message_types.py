"""Message types of ROS 2 without ROS, and McapFile, which they are written to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from fleet_sim.base import files
from fleet_sim.base.arrays import AnyArray, Ints
from fleet_sim.base.errors import ConfigError, InvalidValueError, missing_extra, of_extra

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore


OWN = "fleet_sim_msgs"
NS_PER_S = 1_000_000_000
BASE, NAME, ARRAY, SEQUENCE = 1, 2, 3, 4
"""What a field is, as rosbags numbers it."""


@cache
def typestore() -> Typestore:
    """Return the standard types of ROS 2 Jazzy and those of fleet_sim_msgs.

    Raises MissingDependencyError without the extra `record`, and ConfigError where the definitions of fleet_sim_msgs
    are not installed.
    """
    with of_extra("rosbags", "record", "a recording"):
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    for file in files.listed(own_definitions(), "*.msg"):
        store.register(get_types_from_msg(files.read_text(file), f"{OWN}/msg/{file.stem}"))
    return store


def check_installed() -> None:
    """Raise what `typestore` raises, without reading the types, which takes a while."""
    for package in ("mcap", "rosbags"):
        if find_spec(package) is None:
            raise missing_extra(package, "record", "a recording")
    own_definitions()


def own_definitions() -> Path:
    """Return the folder with the definitions of fleet_sim_msgs; raises ConfigError with the folders searched."""
    # In a checkout it is a folder of src/; in a wheel and in an ament prefix a neighbour of share/fleet_sim.
    roots = files.data_roots()
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    folders = [root / "src" / OWN / "msg" for root in roots] + [root.parent / OWN / "msg" for root in roots]
    # colcon installs each package into a prefix of its own.
    folders += [prefix / "share" / OWN / "msg" for prefix in (*prefixes, Path(sys.prefix))]
    found = next((folder for folder in folders if files.is_folder(folder)), None)
    if found is None:
        raise ConfigError(f"the definitions of {OWN} are not installed. Searched: {', '.join(map(str, folders))}")
    return found


@cache
def definition(kind: str) -> str:
    """Return the text that describes the type `kind` ("nav_msgs/msg/Path") and all types in it, as recordings have."""
    return typestore().generate_msgdef(kind, ros_version=2)[0]


def make(kind: str, **values: Any) -> Any:
    """Return a message of type `kind` with `values`, and zeros, empty texts and empty arrays elsewhere."""
    store = typestore()
    fields = store.fielddefs[kind][1]
    # Not `get`, which would make every default for nothing.
    given = {name: values[name] if name in values else _default(*field) for name, field in fields}
    return store.types[kind](**given)


def serializer(kind: str) -> Callable[[Any], bytes]:
    """Return what makes the CDR of a message of type `kind`, little endian, with its header."""
    store = typestore()
    return lambda message: bytes(store.serialize_cdr(message, kind))


def deserializer(kind: str) -> Callable[[bytes], Any]:
    """Return what reads the CDR of a message of type `kind`; it raises ValueError for other bytes."""
    store = typestore()
    from rosbags.serde import SerdeError

    def read(data: bytes) -> Any:
        try:
            return store.deserialize_cdr(data, kind)
        # Not a ValueError, unlike what it raises for most bytes.
        except SerdeError as error:
            raise ValueError(f"no {kind}: {error}") from error

    return read


def stamped(frame: str, nanoseconds: int = 0) -> Any:
    """Return a std_msgs/Header."""
    return make("std_msgs/msg/Header", stamp=time_message(nanoseconds), frame_id=frame)


def time_message(nanoseconds: int) -> Any:
    """Return a time in ns as builtin_interfaces/Time."""
    sec, nanosec = divmod(nanoseconds, NS_PER_S)
    return make("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)


_NUMBERS: Mapping[str, AnyArray] = {
    kind: np.zeros(0, kind.replace("byte", "uint8"))
    for kind in ("int8", "uint8", "byte", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}


def _default(node: int, content: Any) -> Any:
    """Return the empty value of a field as rosbags describes it: a base type, a name, an array or a sequence."""
    if node == BASE:
        kind = content[0]
        return "" if kind in ("string", "wstring") else False if kind == "bool" else 0.0 if "float" in kind else 0
    if node == NAME:
        return make(content)
    (inner, item), length = content
    count = length if node == ARRAY else 0
    if inner == BASE and item[0] in _NUMBERS:
        return np.zeros(count, _NUMBERS[item[0]].dtype)
    return [_default(inner, item) for _ in range(count)]


# McapFile: a recording while it is written, beside its name, in chunks that are whole at any moment.

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
    path, part = Path(path), part or files.part_beside(path)
    files.check_target(path)
    if files.exists(part):
        raise InvalidValueError(
            f"{part} is there: another recording is at work, or a run was killed. What it has so far can be "
            f"read: make it whole with `fleet-sim replay {part} --repair {path}`, or remove it"
        )
    with files.refusals(path):
        # Never one that is there: it may be all that is left of a run that was killed, or another's at work.
        return files.opened(part, "xb")


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
        self.path, self.part = Path(path), part or files.part_beside(path)
        self._stream = stream or open_part(path, self.part)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._whole = 0
        """Up to where the file is whole, in bytes: what follows belongs to something that is being written."""
        with of_extra("mcap", "record", "a recording"):
            from mcap.writer import Writer
        # A checksum of all: only that covers metadata, and the kinds of records.
        self._writer: Any = Writer(self._stream, CHUNK, enable_data_crcs=True)
        with files.refusals(path):
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
            with files.refusals(self.path):
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
        with files.refusals(self.path):
            self._writer.add_metadata(name, dict(values))

    def attach(self, name: str, media_type: str, data: bytes) -> None:
        """Add a whole file."""
        with files.refusals(self.path):
            self._writer.add_attachment(0, 0, name, media_type, data)

    def flush(self) -> None:
        """Write what was added since the last call as a chunk."""
        with files.refusals(self.path):
            self._writer.flush()
            self._whole = self._stream.tell()

    def finish(self) -> None:
        """Write the index and give the file its name."""
        with files.refusals(self.path):
            self._writer.finish()
            self._stream.close()
            files.put_in_place(self.part, self.path)

    def abandon(self, *, kept: bool) -> None:
        """Close it after an error. Where it is `kept`, what was flushed stays beside the name, up to the last chunk."""
        # What was left to write may not fit; it is what is cut off.
        with contextlib.suppress(OSError):
            self._stream.close()
        with files.refusals(self.path):
            if kept and self._whole:
                with files.opened(self.part, "r+b") as stream:
                    stream.truncate(self._whole)
            else:
                files.remove(self.part)
