"""Topics: their names and types, and quality of service from words."""

from __future__ import annotations

import argparse
import copy
from typing import Any

from ..completers import NameCompleter, PrototypeCompleter, TypeCompleter, type_names
from ..rclpy import qos
from ..rclpy.duration import Duration
from ..ros2cli import qos_arguments
from ..ros2cli.listing import NamesAndTypes, visible
from ..ros2cli.subscribing import absolute_name
from ..ros2cli.verbs import positive_float, positive_int
from ..rosidl_runtime_py.get_interfaces import get_message_interfaces
from ..rosidl_runtime_py.utilities import get_message

__all__ = [
    "TopicMessagePrototypeCompleter",
    "TopicNameCompleter",
    "TopicTypeCompleter",
    "add_qos_arguments",
    "get_msg_class",
    "get_topic_names",
    "get_topic_names_and_types",
    "message_type_completer",
    "positive_float",
    "positive_int",
    "profile_configure_short_keys",
    "qos_profile_from_short_keys",
]


def get_topic_names_and_types(*, node: Any, include_hidden_topics: bool = False) -> NamesAndTypes:
    """Names and types, by name."""
    return visible(node.get_topic_names_and_types(), include_hidden_topics)


def get_topic_names(*, node: Any, include_hidden_topics: bool = False) -> list[str]:
    """Names, in order."""
    found = get_topic_names_and_types(node=node, include_hidden_topics=include_hidden_topics)
    return [name for name, _ in found]


def get_msg_class(node: Any, topic: str, blocking: bool = False, include_hidden_topics: bool = False) -> Any:
    """The class of a topic's messages, None where the topic is not known; `blocking` waits until it is.

    Raises RuntimeError for a topic with several types or with one that is not installed.
    """
    from .. import rclpy

    while True:
        names = get_topic_names_and_types(node=node, include_hidden_topics=include_hidden_topics)
        types = dict(names).get(absolute_name(topic))
        if types or not blocking:
            break
        rclpy.spin_once(getattr(node, "node", node), timeout_sec=0.1)
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo topic '{topic}', as it contains more than one type: {types}")
    try:
        return get_message(types[0])
    except (AttributeError, ModuleNotFoundError, ValueError) as error:
        raise RuntimeError(f"The message type '{types[0]}' is invalid: {error}") from error


def profile_configure_short_keys(
    profile: qos.QoSProfile,
    reliability: str | None = None,
    durability: str | None = None,
    depth: int | None = None,
    history: str | None = None,
    liveliness: str | None = None,
    liveliness_lease_duration_s: float | None = None,
) -> None:
    """Change a profile by the short keys of policies; None leaves one as it is, as does a negative number."""
    if history:
        profile.history = qos.HistoryPolicy(qos.HistoryPolicy.get_from_short_key(history))
    if durability:
        profile.durability = qos.DurabilityPolicy(qos.DurabilityPolicy.get_from_short_key(durability))
    if reliability:
        profile.reliability = qos.ReliabilityPolicy(qos.ReliabilityPolicy.get_from_short_key(reliability))
    if liveliness:
        profile.liveliness = qos.LivelinessPolicy(qos.LivelinessPolicy.get_from_short_key(liveliness))
    if liveliness_lease_duration_s is not None and liveliness_lease_duration_s >= 0:
        profile.liveliness_lease_duration = Duration(seconds=liveliness_lease_duration_s)
    if depth is not None and depth >= 0:
        profile.depth = depth
    elif profile.durability == qos.DurabilityPolicy.TRANSIENT_LOCAL and profile.depth == 0:
        profile.depth = 1  # or nothing is kept for those who come late


def qos_profile_from_short_keys(
    preset_profile: str,
    reliability: str | None = None,
    durability: str | None = None,
    depth: int | None = None,
    history: str | None = None,
    liveliness: str | None = None,
    liveliness_lease_duration_s: float | None = None,
) -> qos.QoSProfile:
    """A preset profile with changes, as `profile_configure_short_keys` makes them."""
    profile = copy.copy(qos.QoSPresetProfiles.get_from_short_key(preset_profile))
    profile_configure_short_keys(
        profile, reliability, durability, depth, history, liveliness, liveliness_lease_duration_s
    )
    return profile


def add_qos_arguments(
    parser: argparse.ArgumentParser, subscribe_or_publish: str, default_profile_str: str = "default"
) -> None:
    """The arguments that choose a profile and change it."""
    qos_arguments.add_qos_arguments(parser, subscribe_or_publish, default_profile_str)


class TopicNameCompleter(NameCompleter):
    """Completes names of topics."""

    def __init__(self, *, include_hidden_topics_key: str | None = None) -> None:
        super().__init__(include_hidden_topics_key)
        self.include_hidden_topics_key = include_hidden_topics_key

    def _names(self, node: Any, hidden: bool) -> list[str]:
        return get_topic_names(node=node, include_hidden_topics=hidden)


def message_type_completer(**kwargs: Any) -> list[str]:
    """All types of messages."""
    return type_names(get_message_interfaces())


class TopicTypeCompleter(TypeCompleter):
    """Completes the types of the topic that was named, or all."""

    def __init__(self, *, topic_name_key: str | None = None) -> None:
        super().__init__(topic_name_key)
        self.topic_name_key = topic_name_key

    def _types(self) -> list[str]:
        return message_type_completer()

    def _names_and_types(self, node: Any) -> NamesAndTypes:
        return get_topic_names_and_types(node=node, include_hidden_topics=True)


class TopicMessagePrototypeCompleter(PrototypeCompleter):
    """Completes a message with all defaults."""

    def __init__(self, *, topic_type_key: str | None = None) -> None:
        super().__init__(topic_type_key)
        self.topic_type_key = topic_type_key
