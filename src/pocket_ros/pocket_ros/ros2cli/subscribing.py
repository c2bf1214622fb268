"""Subscribing to topics whose type is found out."""

from __future__ import annotations

from typing import Any

from ..rclpy.node import Node
from .interface_types import interface_class
from .node import wait_until


def absolute_name(topic: str) -> str:
    """The name below the root."""
    return topic if topic.startswith(("/", "~")) else f"/{topic}"


def find_message_class(node: Node, topic: str, *, wait: bool = False) -> Any:
    """The class of a topic's messages, waiting for the topic to be discovered, with `wait` for as long as it
    takes.

    None where it is not. Raises RuntimeError for a topic with several types.
    """
    name = absolute_name(topic)

    def find() -> list[str] | None:
        return dict(node.get_topic_names_and_types()).get(name)

    types = wait_until(node, find, float("inf")) if wait else wait_until(node, find)
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(
            f"Cannot echo topic '{name}', as it contains more than one type: [{', '.join(types)}]"
        )
    return interface_class(types[0], "msg")
