"""Publishing transforms on `/tf`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..interfaces.classes import message_class
from ..rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile

if TYPE_CHECKING:
    from ..rclpy.node import Node
    from .rigid import StampedTransform


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


# Publishing transforms that hold for all times, on `/tf_static`.


class StaticTransformBroadcaster:
    """Publishes all static transforms sent so far, for late listeners too."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        if qos is None:
            qos = QoSProfile(
                depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, history=HistoryPolicy.KEEP_LAST
            )
        self._message = message_class("tf2_msgs/msg/TFMessage")
        self._by_child: dict[str, StampedTransform] = {}
        self.pub_tf = node.create_publisher(self._message, "/tf_static", qos)

    def sendTransform(
        self, transform: StampedTransform | list[StampedTransform] | tuple[StampedTransform, ...]
    ) -> None:
        """Publish a TransformStamped or a list of them.

        One replaces an earlier one of the same child frame.
        """
        transforms = transform if isinstance(transform, (list, tuple)) else [transform]
        for one in transforms:
            self._by_child[one.child_frame_id] = one
        self.pub_tf.publish(self._message(transforms=list(self._by_child.values())))
