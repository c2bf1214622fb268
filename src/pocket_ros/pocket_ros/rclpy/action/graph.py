"""The actions of the domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..node import Node

_NamesAndTypes = list[tuple[str, list[str]]]
_FEEDBACK, _FEEDBACK_TYPE = "/_action/feedback", "_FeedbackMessage"


def get_action_names_and_types(node: Node) -> _NamesAndTypes:
    """All actions with their types."""
    return _actions(node.get_topic_names_and_types())


def get_action_server_names_and_types_by_node(
    node: Node, remote_node_name: str, remote_node_namespace: str
) -> _NamesAndTypes:
    """The actions a node serves. Raises NodeNameNonExistentError."""
    return _actions(node.get_publisher_names_and_types_by_node(remote_node_name, remote_node_namespace))


def get_action_client_names_and_types_by_node(
    node: Node, remote_node_name: str, remote_node_namespace: str
) -> _NamesAndTypes:
    """The actions a node has clients of. Raises NodeNameNonExistentError."""
    return _actions(node.get_subscriber_names_and_types_by_node(remote_node_name, remote_node_namespace))


def _actions(topics: _NamesAndTypes) -> _NamesAndTypes:
    return [
        (name.removesuffix(_FEEDBACK), [kind.removesuffix(_FEEDBACK_TYPE) for kind in types])
        for name, types in topics
        if name.endswith(_FEEDBACK)
    ]
