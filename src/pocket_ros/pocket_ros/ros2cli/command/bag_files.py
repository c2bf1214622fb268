"""The settings of recordings to be written, from the file that `ros2 bag convert` is given."""

from __future__ import annotations

import argparse
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml
from rosbags import interfaces
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, ReaderError, StoragePlugin, Writer

from ...interfaces import catalog
from ...rclpy import qos
from ...rclpy.endpoint import SERVICE_EVENT_POSTFIX
from ...rclpy.logging import LoggingSeverity
from ...rclpy.node import Node
from ...rclpy.time import Duration
from ..listing import absolute_name
from ..node import is_hidden
from ..verbs import refuse

# Arguments that `ros2 bag record` and `ros2 bag play` have in common.


_LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")
STORED = "a full ROS 2 hands it to its storage plugin"


def add_bag_arguments(parser: argparse.ArgumentParser, node_name: str) -> None:
    """Add the arguments of a node that records or plays."""
    flag = parser.add_argument
    flag("--disable-keyboard-controls", action="store_true", help="Accepted; there are none")
    flag("--qos-profile-overrides-path", metavar="FILE", help="YAML file with the QoS profiles of topics")
    flag("--node-name", default=node_name, help="Name of the node")
    flag("--log-level", choices=_LOG_LEVELS, default="info", help="Logging level (default: info)")
    refuse(parser, "--storage-config-file", reason=STORED, takes_value=True)


def set_log_level(node: Node, args: argparse.Namespace) -> None:
    """Let the node log from `--log-level` on."""
    node.get_logger().set_level(LoggingSeverity[args.log_level.upper()])


# Quality of service between rclpy and recordings.


_SECOND = 1_000_000_000


def _to_time(duration: Duration) -> interfaces.QosTime:
    return interfaces.QosTime(*divmod(duration.nanoseconds, _SECOND))


def _from_time(time: interfaces.QosTime) -> Duration:
    # Recordings by other tools write an unlimited time with more than fits.
    return Duration(nanoseconds=min(time.sec * _SECOND + time.nsec, 2**63 - 1))


def qos_to_bag(profile: qos.QoSProfile) -> interfaces.Qos:
    """A profile as a recording keeps it."""
    return interfaces.Qos(
        interfaces.QosHistory(int(profile.history)),
        profile.depth,
        interfaces.QosReliability(int(profile.reliability)),
        interfaces.QosDurability(int(profile.durability)),
        _to_time(profile.deadline),
        _to_time(profile.lifespan),
        interfaces.QosLiveliness(int(profile.liveliness)),
        _to_time(profile.liveliness_lease_duration),
        False,
    )


def qos_from_bag(profiles: list[interfaces.Qos]) -> qos.QoSProfile:
    """The profile to play with: the first recorded, or reliable and volatile where none was."""
    if not profiles:
        return qos.QoSProfile(depth=10)
    found = profiles[0]
    history = (
        qos.HistoryPolicy.KEEP_ALL
        if found.history == interfaces.QosHistory.KEEP_ALL
        else qos.HistoryPolicy.KEEP_LAST
    )
    best_effort = found.reliability == interfaces.QosReliability.BEST_EFFORT
    transient = found.durability == interfaces.QosDurability.TRANSIENT_LOCAL
    return qos.QoSProfile(
        history=history,
        depth=max(found.depth, 1) if found.history != interfaces.QosHistory.UNKNOWN else 10,
        reliability=qos.ReliabilityPolicy.BEST_EFFORT if best_effort else qos.ReliabilityPolicy.RELIABLE,
        durability=qos.DurabilityPolicy.TRANSIENT_LOCAL if transient else qos.DurabilityPolicy.VOLATILE,
        deadline=_from_time(found.deadline),
        lifespan=_from_time(found.lifespan),
    )


_DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")
_POLICIES = {
    "history": qos.HistoryPolicy,
    "reliability": qos.ReliabilityPolicy,
    "durability": qos.DurabilityPolicy,
    "liveliness": qos.LivelinessPolicy,
}


def read_overrides(path: str | None) -> dict[str, qos.QoSProfile]:
    """Topic to profile, of a file as `--qos-profile-overrides-path` takes; none without one.

    Raises OSError, or ValueError with the topic that is wrong.
    """
    if path is None:
        return {}
    try:
        content = yaml.safe_load(Path(path).read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is no YAML: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: must have the settings of each topic by the topic's name")
    profiles = {}
    for topic, settings in content.items():
        try:
            profiles[str(topic)] = _override(settings)
        except (ValueError, TypeError, qos.InvalidQoSProfileException) as error:
            raise ValueError(f"{path}: '{topic}': {error}") from error
    return profiles


def _override(settings: object) -> qos.QoSProfile:
    if not isinstance(settings, dict):
        raise ValueError("must have settings by name, such as 'reliability: best_effort'")
    values: dict[str, object] = {}
    for name, value in settings.items():
        if name in _DURATIONS:
            values[name] = _override_duration(name, value)
        elif name in _POLICIES:
            if value not in _POLICIES[name].short_keys():
                raise ValueError(f"{name} is {value!r}; it can be {', '.join(_POLICIES[name].short_keys())}")
            values[name] = _POLICIES[name](_POLICIES[name].get_from_short_key(value))
        elif name == "depth":
            if type(value) is not int or value < 0:
                raise ValueError(f"depth is {value!r}; it must be a whole number from 0 on")
            values[name] = value
        elif name == "avoid_ros_namespace_conventions":
            values[name] = bool(value)
        else:
            raise ValueError(f"Unexpected key `{name}` for QoS profile.")
    return qos.QoSProfile(**values)


def _override_duration(name: str, value: object) -> Duration:
    if not isinstance(value, dict) or value.keys() != {"sec", "nsec"}:
        raise ValueError(f"{name} must have both sec and nsec")
    duration = Duration(seconds=value["sec"], nanoseconds=value["nsec"])
    if duration.nanoseconds < 0:
        raise ValueError(f"{name} may not be negative")
    return duration


# Services in recordings: a recording holds the events that service introspection publishes.


_REQUESTS = (0, 1)  # sent, received; responses are 2 and 3
# Encapsulation, event_type and its padding, stamp, client_gid, padding, sequence_number.
_EVENT_INFO = {True: struct.Struct("<4xB3x8x16s4xq"), False: struct.Struct(">4xB3x8x16s4xq")}


def is_event_topic(topic: str, type_name: str) -> bool:
    """Whether a topic has the events of a service."""
    return topic.endswith(SERVICE_EVENT_POSTFIX) and "/srv/" in type_name and type_name.endswith("_Event")


def service_name(topic: str) -> str:
    """The service whose events a topic has."""
    return topic.removesuffix(SERVICE_EVENT_POSTFIX)


def event_topics(services: Iterable[str]) -> set[str]:
    """The topics with the events of services; a service may be named by that topic too."""
    return {service_name(absolute_name(name)) + SERVICE_EVENT_POSTFIX for name in services}


class Calls(NamedTuple):
    """How often a service was called; an event that client and server recorded counts once."""

    requests: int
    responses: int


def count_calls(reader: Reader, connection: interfaces.Connection) -> Calls:
    """Count the calls in the events of a service. Raises ReaderError for what is no event."""
    seen: tuple[set[tuple[bytes, int]], set[tuple[bytes, int]]] = (set(), set())
    for _, _, data in reader.messages([connection]):
        try:
            kind, client, number = _EVENT_INFO[bool(data[1] & 1)].unpack_from(data)
        except (IndexError, struct.error) as error:
            raise ReaderError(f"a message of '{connection.topic}' is no event of a service") from error
        seen[0 if kind in _REQUESTS else 1].add((client, number))
    return Calls(len(seen[0]), len(seen[1]))


# Writers of recordings, for `ros2 bag record` and `ros2 bag convert`.


STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}


def open_writer(path: Path, storage: str, compression_mode: str) -> Writer:
    """The writer of a new recording, compressed with zstd unless the mode is none or empty."""
    writer = Writer(path, version=9, storage_plugin=STORAGES[storage])
    if compression_mode not in ("", "none"):
        writer.set_compression(CompressionMode[compression_mode.upper()], CompressionFormat.ZSTD)
    return writer


def already_exists(path: Path) -> str:
    """The error of a recording that would replace something."""
    return f"[ERROR] [ros2bag]: Output folder '{path}' already exists."


@dataclass
class OutputBag:
    """A recording to be written: where, in which storage, and which topics it takes."""

    uri: str
    storage_id: str = ""
    all_topics: bool = False
    all_services: bool = False
    topics: list[str] = field(default_factory=list)
    topic_types: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)
    regex: str = ""
    exclude_regex: str = ""
    exclude_topics: list[str] = field(default_factory=list)
    exclude_topic_types: list[str] = field(default_factory=list)
    exclude_services: list[str] = field(default_factory=list)
    include_hidden_topics: bool = False
    rmw_serialization_format: str = ""
    compression_mode: str = ""
    compression_format: str = ""

    def __post_init__(self) -> None:
        if self.storage_id not in ("", *STORAGES):
            raise ValueError(f"storage_id is '{self.storage_id}'; it can be mcap or sqlite3")
        self.compression_mode = self.compression_mode.lower()
        if self.compression_mode not in ("", "none", "file", "message"):
            raise ValueError(
                f"compression_mode is '{self.compression_mode}'; it can be none, file or message"
            )
        if self.compression_mode in ("file", "message") and self.compression_format != "zstd":
            raise ValueError(f"compression_format is '{self.compression_format}'; it can be zstd")
        if self.rmw_serialization_format not in ("", "cdr"):
            raise ValueError(f"rmw_serialization_format is '{self.rmw_serialization_format}'; it can be cdr")
        for pattern in (self.regex, self.exclude_regex):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"'{pattern}' is no regular expression: {error}") from error

    def takes(self, topic: str, type_name: str) -> bool:
        """Whether a topic belongs into this recording."""
        if is_event_topic(topic, type_name):
            return self._takes_service(topic)
        chosen = self.all_topics or topic in self.topics or type_name in self.topic_types
        if not chosen and not (self.regex and re.search(self.regex, topic)):
            return False
        if type_name in self.exclude_topic_types or topic in self.exclude_topics:
            return False
        if self.exclude_regex and re.search(self.exclude_regex, topic):
            return False
        return self.include_hidden_topics or not is_hidden(topic)

    def _takes_service(self, topic: str) -> bool:
        """As for topics; a service is named by itself or by the topic of its events."""
        service = service_name(topic)
        names = {topic, service}
        chosen = self.all_services or not names.isdisjoint(self.services)
        if not chosen and not (self.regex and re.search(self.regex, service)):
            return False
        if not names.isdisjoint(self.exclude_services):
            return False
        return not (self.exclude_regex and re.search(self.exclude_regex, service))


# Definitions of messages as recordings keep them.


def full_definition(type_name: str) -> str:
    """A message's definition followed by those of all it holds, as MCAP keeps them.

    Raises UnknownInterfaceError.
    """
    parts: dict[str, str] = {}

    def collect(name: str) -> None:
        if name in parts:
            return
        found = catalog.message(name)
        parts[name] = catalog.render(found)
        for member in found.fields:
            if not member.type.is_primitive:
                collect(member.type.base)

    collect(type_name)
    first, *rest = parts.items()
    separator = "=" * 80
    nested = [f"\n{separator}\nMSG: {name.replace('/msg/', '/')}\n{text}" for name, text in rest]
    return first[1] + "".join(nested)
