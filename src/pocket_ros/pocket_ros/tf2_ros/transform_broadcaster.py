"""Publishing transforms on `/tf`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..interfaces.classes import message_class
from ..rclpy.qos import QoSProfile

if TYPE_CHECKING:
    from ..rclpy.node import Node
    from .message_fields import StampedTransform


class TransformBroadcaster:
    """Publishes one or more TransformStamped at once."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self._message = message_class("tf2_msgs/msg/TFMessage")
        self.pub_tf = node.create_publisher(
            self._message, "/tf", QoSProfile(depth=100) if qos is None else qos
        )

    def sendTransform(
        self, transform: StampedTransform | list[StampedTransform] | tuple[StampedTransform, ...]
    ) -> None:
        """Publish a TransformStamped or a list of them."""
        transforms = transform if isinstance(transform, (list, tuple)) else [transform]
        self.pub_tf.publish(self._message(transforms=list(transforms)))
