"""Wait for messages on topics."""

from __future__ import annotations

import contextlib
import random
import string
import threading
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Any

from .. import rclpy
from ..rclpy.context import Context
from ..rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from ..rclpy.node import Node


class WaitForTopics:
    """Subscribes to topics, given as names and message classes, in a context and a thread of its own.

    `wait` waits until each topic has had a message; so does `with`, which raises RuntimeError naming the
    topics that had none within `timeout` seconds, and shuts down at its end. The last messages of each topic
    are kept.
    """

    def __init__(
        self,
        topic_tuples: Iterable[tuple[str, Any]],
        timeout: float = 5.0,
        messages_received_buffer_length: int = 10,
    ) -> None:
        self.timeout = timeout
        self._topics = list(topic_tuples)
        self._kept: dict[str, deque[Any]] = {
            name: deque(maxlen=messages_received_buffer_length) for name, _ in self._topics
        }
        self._condition = threading.Condition()
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        suffix = "".join(random.choices(string.ascii_uppercase + string.digits, k=10))
        self._node = Node(f"_test_node_{suffix}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._started = False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _take(self, topic: str, message: Any) -> None:
        with self._condition:
            self._kept[topic].append(message)
            self._condition.notify_all()

    def wait(self) -> bool:
        """Whether each topic had a message within the timeout; messages of an earlier call do not count."""
        with self._condition:
            for kept in self._kept.values():
                kept.clear()
        if not self._started:
            self._started = True
            for name, message_class in self._topics:
                self._node.create_subscription(message_class, name, partial(self._take, name), 10)
        with self._condition:
            return self._condition.wait_for(lambda: all(self._kept.values()), self.timeout)

    def topics_received(self) -> set[str]:
        """The topics that had a message."""
        with self._condition:
            return {name for name, kept in self._kept.items() if kept}

    def topics_not_received(self) -> set[str]:
        """The topics that had none."""
        return set(self._kept) - self.topics_received()

    def received_messages(self, topic_name: str) -> list[Any]:
        """The last messages of a topic. Raises KeyError for a topic that was not asked for."""
        if topic_name not in self._kept:
            raise KeyError(f"No messages received for topic: {topic_name}")
        with self._condition:
            return list(self._kept[topic_name])

    def shutdown(self) -> None:
        """End the subscriptions, the thread and the context."""
        self._context.try_shutdown()
        self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.destroy()

    def __enter__(self) -> WaitForTopics:
        if not self.wait():
            missing = self.topics_not_received()
            self.shutdown()
            raise RuntimeError("Did not receive messages on these topics: ", missing)
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
