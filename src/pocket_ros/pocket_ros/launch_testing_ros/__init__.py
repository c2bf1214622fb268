"""Help for launch tests of nodes."""

from __future__ import annotations

import contextlib
import random
import string
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .. import rclpy
from ..ament_index_python import get_resource, has_resource
from ..launch_testing.test_runner import LaunchTestRunner
from ..launch_testing.tools import basic_output_filter as filter_output
from ..launch_testing.tools import get_default_filtered_patterns, get_default_filtered_prefixes
from ..places import offer_places
from ..rclpy.context import Context
from ..rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from ..rclpy.node import Node

# Messages on their way from one topic to another.


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


# A node that is served while a test goes on.


_JOIN_SECONDS = 5.0


class MessagePump:
    """Spins a node in a thread of its own between `start` and `stop`."""

    def __init__(self, node: Node, context: Context | None = None) -> None:
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name="msg_pump_thread", daemon=True)
        self._running = True

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for a callback that is at work. Raises RuntimeError if that takes seconds."""
        self._running = False
        self._executor.wake()
        self._thread.join(_JOIN_SECONDS)
        if self._thread.is_alive():
            raise RuntimeError(f"a callback has been at work for {_JOIN_SECONDS:g} s; the thread goes on")
        self._executor.shutdown()

    def _spin(self) -> None:
        while self._running:
            self._executor.spin_once(timeout_sec=1.0)


# Filters for lines that a middleware writes between those of a node.


_KINDS = ("prefixes", "patterns")


def get_rmw_output_filter(rmw_implementation: str, filter_type: str) -> list[str]:
    """The prefixes or patterns that a middleware has put into the ament index; none where it has not.

    Raises TypeError for another kind of filter.
    """
    if filter_type not in _KINDS:
        raise TypeError(f"filter_type must be one of {', '.join(_KINDS)}, got '{filter_type}'")
    kind = f"rmw_output_{filter_type}"
    if not has_resource(kind, rmw_implementation):
        return []
    return get_resource(kind, rmw_implementation)[0].splitlines()


def basic_output_filter(
    filtered_prefixes: Iterable[str] | None = None,
    filtered_patterns: Iterable[str] | None = None,
    filtered_rmw_implementation: str | None = None,
) -> Callable[[str], str]:
    """That of launch_testing, which also removes the lines of a middleware."""
    prefixes = list(get_default_filtered_prefixes() if filtered_prefixes is None else filtered_prefixes)
    patterns = list(get_default_filtered_patterns() if filtered_patterns is None else filtered_patterns)
    if filtered_rmw_implementation:
        prefixes += get_rmw_output_filter(filtered_rmw_implementation, "prefixes")
        patterns += get_rmw_output_filter(filtered_rmw_implementation, "patterns")
    return filter_output(prefixes, patterns)


# Expectations on the output of nodes.


# Wait for messages on topics.


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


__all__ = ["DataRepublisher", "LaunchTestRunner", "MessagePump", "WaitForTopics", "tools"]

offer_places(__name__)
