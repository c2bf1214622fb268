"""Messages on their way from one topic to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rclpy.node import Node


class DataRepublisher:
    """Publishes what a function makes of each message received; None drops the message."""

    def __init__(
        self,
        node: Node,
        listen_topic: str,
        publish_topic: str,
        msg_type: type[Any],
        transform_fn: Callable[[Any], Any],
    ) -> None:
        self._node = node
        self._transform = transform_fn
        self._received = 0
        self._republished: list[Any] = []
        self._publisher = node.create_publisher(msg_type, publish_topic, 10)
        self._subscription = node.create_subscription(msg_type, listen_topic, self._take, 10)

    def _take(self, message: Any) -> None:
        self._received += 1
        made = self._transform(message)
        if made is not None:
            self._republished.append(made)
            self._publisher.publish(made)

    def shutdown(self) -> None:
        """End it."""
        self._node.destroy_subscription(self._subscription)
        self._node.destroy_publisher(self._publisher)

    def get_num_received(self) -> int:
        """How many messages came in."""
        return self._received

    def get_num_republished(self) -> int:
        """How many went out."""
        return len(self._republished)

    def get_republished(self) -> list[Any]:
        """The messages that went out."""
        return self._republished
