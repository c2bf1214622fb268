"""The settings of recordings to be written, from the file that `ros2 bag convert` is given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import get_type_hints

import yaml

from .bag_services import is_event_topic, service_name
from .bag_writing import STORAGES
from .node import is_hidden

_IN_FULL_ROS = "is not covered by pocket_ros; a full ROS 2 has it"
# These say how a recording is made, or how fast: they change nothing in what is written here.
_WITHOUT_EFFECT = (
    "compression_queue_size",
    "compression_threads",
    "compression_threads_priority",
    "disable_keyboard_controls",
    "include_unpublished_topics",
    "is_discovery_disabled",
    "max_cache_size",
    "node_prefix",
    "topic_polling_interval",
)
_REFUSED = (
    "max_bagfile_size",
    "max_bagfile_duration",
    "storage_preset_profile",
    "storage_config_uri",
    "topic_qos_profile_overrides",
    "custom_data",
)


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


def read_output_bags(path: Path) -> list[OutputBag]:
    """The recordings to be written.

    Raises ValueError or OSError, and NotImplementedError for what is not covered.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"is no YAML: {error}") from error
    bags = content.get("output_bags") if isinstance(content, dict) else None
    if not isinstance(bags, list) or not bags or not all(isinstance(bag, dict) for bag in bags):
        raise ValueError("must have the key 'output_bags', a list of the settings of each bag")
    found = [_output_bag(dict(bag)) for bag in bags]
    if len({bag.uri for bag in found}) < len(found):
        raise ValueError("two output bags have the same uri")
    return found


def _output_bag(settings: dict[object, object]) -> OutputBag:
    if settings.pop("all", False):
        settings |= {"all_topics": True, "all_services": True}
    if "exclude" in settings:
        settings.setdefault("exclude_regex", settings.pop("exclude"))
    for refused in _REFUSED:
        if settings.pop(refused, None) not in (None, "", 0, {}, "none"):
            raise NotImplementedError(f"'{refused}' of 'ros2 bag convert' {_IN_FULL_ROS}")
    kinds = get_type_hints(OutputBag)
    values: dict[str, object] = {}
    for name, value in settings.items():
        if name in _WITHOUT_EFFECT:
            continue
        if not isinstance(name, str) or name not in kinds:
            known = ", ".join(known.name for known in fields(OutputBag))
            raise ValueError(f"'{name}' is no setting of an output bag; there are {known}")
        if not _fits(value, kinds[name]):
            raise ValueError(f"'{name}' of an output bag cannot be {value!r}")
        values[name] = value
    if not values.get("uri"):
        raise ValueError("an output bag has no uri")
    return OutputBag(**values)  # type: ignore[arg-type]


def _fits(value: object, kind: object) -> bool:
    if kind == list[str]:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return type(value) is kind
