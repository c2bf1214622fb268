"""Topics: their names and types, and quality of service from words."""

from __future__ import annotations

import argparse
import copy
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from ..rclpy import qos
from ..rclpy.action import goals as graph
from ..rclpy.names import expand_topic_name, validate_full_topic_name
from ..rclpy.time import Duration
from ..rosidl_runtime_py import utilities
from ..rosidl_runtime_py.convert import message_to_yaml
from . import listing
from .listing import NamesAndTypes, absolute_name, visible
from .node import NodeStrategy
from .verbs import positive_float as positive_float
from .verbs import positive_int as positive_int

# Interfaces: completion of their names, and what they look like in YAML.


def package_name_completer(**kwargs: Any) -> list[str]:
    """All packages with interfaces."""
    return list(utilities.get_interface_packages())


def type_completer(**kwargs: Any) -> list[str]:
    """All interfaces."""
    return [f"{package}/{name}" for package, names in utilities.get_interfaces().items() for name in names]


def interface_to_yaml(identifier: str) -> str:
    """A message, a request or a goal with all defaults, as YAML.

    Raises what `rosidl_runtime_py.utilities.get_interface` raises for a name that is none.
    """
    interface: Any = utilities.get_interface(identifier)
    part = getattr(interface, "Goal", None) or getattr(interface, "Request", None) or interface
    return message_to_yaml(part())


# What the shell is offered for the arguments of `ros2`: topics, services and actions have them alike.


def type_names(interfaces: Mapping[str, Iterable[str]]) -> list[str]:
    """The full names of types that are listed by package."""
    return [f"{package}/{name}" for package, names in interfaces.items() for name in names]


class NameCompleter:
    """Base of the completers of names; `hidden_key` is the argument that asks for hidden ones too."""

    def __init__(self, hidden_key: str | None) -> None:
        self._hidden_key = hidden_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        hidden = bool(self._hidden_key and getattr(parsed_args, self._hidden_key, False))
        with NodeStrategy(parsed_args) as node:
            return self._names(node, hidden)

    def _names(self, node: Any, hidden: bool) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__} says which names there are")


class TypeCompleter:
    """Base of the completers of types: those of the thing that the argument `name_key` names, or all."""

    def __init__(self, name_key: str | None) -> None:
        self._name_key = name_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        if self._name_key is None:
            return self._types()
        with NodeStrategy(parsed_args) as node:
            names = dict(self._names_and_types(node))
        return names.get(getattr(parsed_args, self._name_key), [])

    def _types(self) -> list[str]:
        raise NotImplementedError(f"{type(self).__name__} says which types are installed")

    def _names_and_types(self, node: Any) -> NamesAndTypes:
        raise NotImplementedError(f"{type(self).__name__} says which types the names have")


class PrototypeCompleter:
    """Base of the completers of content: all defaults of the type that the argument `type_key` names."""

    def __init__(self, type_key: str | None) -> None:
        self._type_key = type_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        return [interface_to_yaml(getattr(parsed_args, self._type_key or ""))]


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
        return utilities.get_message(types[0])
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
    listing.add_qos_arguments(parser, subscribe_or_publish, default_profile_str)


class TopicNameCompleter(NameCompleter):
    """Completes names of topics."""

    def __init__(self, *, include_hidden_topics_key: str | None = None) -> None:
        super().__init__(include_hidden_topics_key)
        self.include_hidden_topics_key = include_hidden_topics_key

    def _names(self, node: Any, hidden: bool) -> list[str]:
        return get_topic_names(node=node, include_hidden_topics=hidden)


def message_type_completer(**kwargs: Any) -> list[str]:
    """All types of messages."""
    return type_names(utilities.get_message_interfaces())


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


# Actions: their names and types, who serves them and who asks.


def get_action_clients_and_servers(*, node: Any, action_name: str) -> tuple[NamesAndTypes, NamesAndTypes]:
    """The nodes with clients and those with servers of an action, by full name, each with its types."""
    wanted = expand_topic_name(action_name, node.get_name(), node.get_namespace())
    validate_full_topic_name(wanted)
    clients: NamesAndTypes = []
    servers: NamesAndTypes = []
    for name, namespace in node.get_node_names_and_namespaces():
        for found, into in (
            (graph.get_action_client_names_and_types_by_node(node, name, namespace), clients),
            (graph.get_action_server_names_and_types_by_node(node, name, namespace), servers),
        ):
            full_name = f"{namespace.rstrip('/')}/{name}"
            into.extend((full_name, types) for action, types in found if action == wanted)
    return clients, servers


def get_action_names_and_types(*, node: Any) -> NamesAndTypes:
    """All actions with their types."""
    return graph.get_action_names_and_types(node)


def get_action_names(*, node: Any) -> list[str]:
    """All actions."""
    return [name for name, _ in get_action_names_and_types(node=node)]


def action_name_completer(prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
    """All actions."""
    with NodeStrategy(parsed_args) as node:
        return get_action_names(node=node)


def action_type_completer(**kwargs: Any) -> list[str]:
    """All types of actions."""
    return type_names(utilities.get_action_interfaces())


class ActionTypeCompleter(TypeCompleter):
    """Completes the types of the action that was named, or all."""

    def __init__(self, *, action_name_key: str | None = None) -> None:
        super().__init__(action_name_key)
        self.action_name_key = action_name_key

    def _types(self) -> list[str]:
        return action_type_completer()

    def _names_and_types(self, node: Any) -> NamesAndTypes:
        return get_action_names_and_types(node=node)


class ActionGoalPrototypeCompleter(PrototypeCompleter):
    """Completes a goal with all defaults."""

    def __init__(self, *, action_type_key: str | None = None) -> None:
        super().__init__(action_type_key)
        self.action_type_key = action_type_key


# Services: their names and types.


def get_service_names_and_types(*, node: Any, include_hidden_services: bool = False) -> NamesAndTypes:
    """Names and types, by name."""
    return visible(node.get_service_names_and_types(), include_hidden_services)


def get_service_names(*, node: Any, include_hidden_services: bool = False) -> list[str]:
    """Names, in order."""
    found = get_service_names_and_types(node=node, include_hidden_services=include_hidden_services)
    return [name for name, _ in found]


def get_service_class(node: Any, service_name: str, include_hidden_services: bool = False) -> Any:
    """The class of a service, None where the service is not known.

    Raises RuntimeError for a service with several types or with one that is not installed.
    """
    found = dict(get_service_names_and_types(node=node, include_hidden_services=include_hidden_services))
    types = found.get(absolute_name(service_name))
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo service '{service_name}', as it has more than one type: {types}")
    try:
        return utilities.get_service(types[0])
    except (AttributeError, ModuleNotFoundError, ValueError) as error:
        raise RuntimeError(f"The service type '{types[0]}' is invalid: {error}") from error


def service_type_completer(**kwargs: Any) -> list[str]:
    """All types of services."""
    return type_names(utilities.get_service_interfaces())


class ServiceNameCompleter(NameCompleter):
    """Completes names of services."""

    def __init__(self, *, include_hidden_services_key: str | None = None) -> None:
        super().__init__(include_hidden_services_key)
        self.include_hidden_services_key = include_hidden_services_key

    def _names(self, node: Any, hidden: bool) -> list[str]:
        return get_service_names(node=node, include_hidden_services=hidden)


class ServiceTypeCompleter(TypeCompleter):
    """Completes the types of the service that was named, or all."""

    def __init__(self, *, service_name_key: str | None = None) -> None:
        super().__init__(service_name_key)
        self.service_name_key = service_name_key

    def _types(self) -> list[str]:
        return service_type_completer()

    def _names_and_types(self, node: Any) -> NamesAndTypes:
        return get_service_names_and_types(node=node, include_hidden_services=True)


class ServicePrototypeCompleter(PrototypeCompleter):
    """Completes a request with all defaults."""

    def __init__(self, *, service_type_key: str | None = None) -> None:
        super().__init__(service_type_key)
        self.service_type_key = service_type_key
