"""Actions: their names and types, who serves them and who asks."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..completers import PrototypeCompleter, TypeCompleter, type_names
from ..rclpy.action import graph
from ..rclpy.names import expand_topic_name, validate_full_topic_name
from ..ros2cli.listing import NamesAndTypes
from ..ros2cli.node.strategy import NodeStrategy
from ..rosidl_runtime_py.get_interfaces import get_action_interfaces


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
    return type_names(get_action_interfaces())


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
