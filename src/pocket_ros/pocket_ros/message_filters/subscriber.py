"""Topics as inputs of filters."""

from __future__ import annotations

from typing import Any

from ..rclpy.node import Node
from .simple_filter import SimpleFilter


class Subscriber(SimpleFilter):
    """Hands on the messages of a topic: `Subscriber(node, Image, "image", qos_profile=10)`.

    Keywords are those of `Node.create_subscription`; attributes those of the subscription, which is `sub`.
    """

    def __init__(
        self, node: Node, msg_type: type[Any], topic: str, *, qos_profile: Any = 10, **kwargs: Any
    ) -> None:
        super().__init__()
        self.node = node
        self.topic = topic
        self.sub = node.create_subscription(msg_type, topic, self.callback, qos_profile, **kwargs)

    def callback(self, msg: Any) -> None:
        """Hand a message on."""
        self.signalMessage(msg)

    def getTopic(self) -> str:
        """The topic as it was given."""
        return self.topic

    def __getattr__(self, key: str) -> Any:
        if key == "sub":  # not there yet: the subscription could not be made
            raise AttributeError(key)
        return getattr(self.sub, key)
