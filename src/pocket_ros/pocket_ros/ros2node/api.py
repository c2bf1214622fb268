"""Nodes: their names, and what each publishes, subscribes to, serves and asks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ..rclpy.action import graph
from ..ros2cli.helpers import wait_for
from ..ros2cli.node import is_hidden
from ..ros2cli.node.strategy import NodeStrategy

INFO_NONUNIQUE_WARNING_TEMPLATE = (
    'There are {num_nodes} nodes in the graph with the exact name "{node_name}". '
    "You are seeing information about only one of them."
)


class NodeName(NamedTuple):
    """A node as the graph has it."""

    name: str
    namespace: str
    full_name: str


class TopicInfo(NamedTuple):
    """A topic, service or action with its types."""

    name: str
    types: list[str]


def get_absolute_node_name(node_name: str | None) -> str | None:
    """The name below the root; None for none."""
    return f"/{node_name.removeprefix('/')}" if node_name else None


def parse_node_name(node_name: str) -> NodeName:
    """The parts of a full name."""
    full_name = f"/{node_name.removeprefix('/')}"
    namespace, _, name = full_name.rpartition("/")
    return NodeName(name, namespace or "/", full_name)


def has_duplicates(values: Sequence[Hashable]) -> bool:
    """Whether a value is there twice."""
    return len(set(values)) < len(values)


def get_node_names(*, node: Any, include_hidden_nodes: bool = False) -> list[NodeName]:
    """The nodes of the graph; hidden are those whose own name begins with an underscore."""
    return [
        NodeName(name, namespace, f"{namespace.rstrip('/')}/{name}")
        for name, namespace in node.get_node_names_and_namespaces()
        if include_hidden_nodes or (name and not name.startswith("_"))
    ]


def wait_for_node(
    node: Any, node_name: str, include_hidden_nodes: bool = False, timeout: float = 1.0
) -> bool:
    """Wait for a node, by its full name; whether it is there."""

    def is_there() -> bool:
        return node_name in [
            n.full_name for n in get_node_names(node=node, include_hidden_nodes=include_hidden_nodes)
        ]

    return wait_for(is_there, timeout)


def get_topics(
    remote_node_name: str, func: Callable[[str, str], Any], *, include_hidden_topics: bool = False
) -> list[TopicInfo]:
    """What `func`, given a node's name and namespace, finds of it, by name."""
    of = parse_node_name(remote_node_name)
    found = sorted(func(of.name, of.namespace))
    return [TopicInfo(name, types) for name, types in found if include_hidden_topics or not is_hidden(name)]


def get_subscriber_info(*, node: Any, remote_node_name: str, include_hidden: bool = False) -> list[TopicInfo]:
    """The topics a node subscribes to."""
    ask = node.get_subscriber_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_publisher_info(*, node: Any, remote_node_name: str, include_hidden: bool = False) -> list[TopicInfo]:
    """The topics a node publishes."""
    ask = node.get_publisher_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_service_client_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The services a node asks."""
    ask = node.get_client_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_service_server_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The services a node has."""
    ask = node.get_service_names_and_types_by_node
    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_action_server_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The actions a node serves."""

    def ask(name: str, namespace: str) -> Any:
        return graph.get_action_server_names_and_types_by_node(node, name, namespace)

    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


def get_action_client_info(
    *, node: Any, remote_node_name: str, include_hidden: bool = False
) -> list[TopicInfo]:
    """The actions a node has clients of."""

    def ask(name: str, namespace: str) -> Any:
        return graph.get_action_client_names_and_types_by_node(node, name, namespace)

    return get_topics(remote_node_name, ask, include_hidden_topics=include_hidden)


class NodeNameCompleter:
    """Completes names of nodes."""

    def __init__(self, *, include_hidden_nodes_key: str | None = None) -> None:
        self.include_hidden_nodes_key = include_hidden_nodes_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        key = self.include_hidden_nodes_key
        include = bool(key and getattr(parsed_args, key, False))
        with NodeStrategy(parsed_args) as node:
            return [found.full_name for found in get_node_names(node=node, include_hidden_nodes=include)]
