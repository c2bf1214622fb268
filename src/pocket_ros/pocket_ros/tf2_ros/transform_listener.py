"""Feeding a buffer from `/tf` and `/tf_static`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING

from ..interfaces.classes import message_class
from ..rclpy.callback_groups import ReentrantCallbackGroup
from ..rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from ..rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile

if TYPE_CHECKING:
    from ..rclpy.node import Node
    from .buffer import Buffer
    from .message_fields import StampedTransform, TransformsFields

DEFAULT_TF_TOPIC, DEFAULT_STATIC_TF_TOPIC = "/tf", "/tf_static"


class TransformListener:
    """Adds what others broadcast to a buffer; with `spin_thread` it spins the node in a thread of its own."""

    def __init__(
        self,
        buffer: Buffer,
        node: Node,
        *,
        spin_thread: bool = False,
        qos: QoSProfile | int | None = None,
        static_qos: QoSProfile | int | None = None,
        tf_topic: str = DEFAULT_TF_TOPIC,
        static_tf_topic: str = DEFAULT_STATIC_TF_TOPIC,
    ) -> None:
        if qos is None:
            qos = QoSProfile(depth=100, durability=DurabilityPolicy.VOLATILE, history=HistoryPolicy.KEEP_LAST)
        if static_qos is None:
            static_qos = QoSProfile(
                depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, history=HistoryPolicy.KEEP_LAST
            )
        self.buffer = buffer
        self.node = node
        # Reentrant: transforms have to come in while another callback waits for one.
        self.group = ReentrantCallbackGroup()
        message = message_class("tf2_msgs/msg/TFMessage")
        self.tf_sub = node.create_subscription(
            message, tf_topic, self.callback, qos, callback_group=self.group
        )
        self.tf_static_sub = node.create_subscription(
            message, static_tf_topic, self.static_callback, static_qos, callback_group=self.group
        )
        if spin_thread:
            self.executor = SingleThreadedExecutor(context=node.context)
            self.dedicated_listener_thread = Thread(target=self._spin, name="transform_listener", daemon=True)
            self.dedicated_listener_thread.start()

    def callback(self, data: TransformsFields) -> None:
        """Transforms from `/tf`."""
        self._add(data, self.buffer.set_transform)

    def static_callback(self, data: TransformsFields) -> None:
        """Transforms from `/tf_static`."""
        self._add(data, self.buffer.set_transform_static)

    def unregister(self) -> None:
        """Stop listening."""
        self.node.destroy_subscription(self.tf_sub)
        self.node.destroy_subscription(self.tf_static_sub)

    def _add(self, data: TransformsFields, add: Callable[[StampedTransform, str], None]) -> None:
        for transform in data.transforms:
            add(transform, "default_authority")

    def _spin(self) -> None:
        self.executor.add_node(self.node)
        with contextlib.suppress(ExternalShutdownException):
            self.executor.spin()
