"""The buffer that programs ask."""

from __future__ import annotations

import contextlib
import time as _time
from collections.abc import Callable
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class, service_class
from ..rclpy.clock import JumpThreshold, TimeJump
from ..rclpy.context import get_default_context
from ..rclpy.entity import ReentrantCallbackGroup
from ..rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from ..rclpy.logging import get_logger
from ..rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from ..rclpy.task import Future
from ..rclpy.time import Duration
from . import geometry
from .buffer_core import DEFAULT_CACHE, BufferCore, TransformException
from .buffer_interface import BufferInterface
from .rigid import Moment, StampedTransform

if TYPE_CHECKING:
    from ..rclpy.node import Node
    from .rigid import TransformsFields


_BACKWARDS = JumpThreshold(min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=True)
_WAIT_SLICE = 0.02
_logger = get_logger("tf2_buffer")


class Buffer(BufferCore, BufferInterface):
    """Remembers transforms for a while and answers what lies between frames.

    With a node, timeouts are in the time of its clock, and the service `tf2_frames` tells the frames;
    without, timeouts are in system time. When that clock jumps back by a second or more, or changes to
    simulated time or from it, the buffer is cleared.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        BufferCore.__init__(self, cache_time or DEFAULT_CACHE)
        BufferInterface.__init__(self)
        self._node = node
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._lock = RLock()
        geometry.register(self.registration)
        if node is not None:
            self.srv = node.create_service(
                service_class("tf2_msgs/srv/FrameGraph"), "tf2_frames", self._answer_frames
            )
            self.clock = node.get_clock()
            self.jump_handle = self.clock.create_jump_callback(
                _BACKWARDS, post_callback=self.time_jump_callback
            )

    def time_jump_callback(self, time_jump: TimeJump) -> None:
        """Forget what is not static: its times are those before the jump."""
        _logger.warning("The clock jumped back or changed its source: the buffer forgets what is not static.")
        self.clear()

    def set_transform(self, transform: StampedTransform, authority: str) -> None:
        """Add a TransformStamped; what is no transform is logged and left out."""
        super().set_transform(transform, authority)
        self._complete_waiting()

    def set_transform_static(self, transform: StampedTransform, authority: str) -> None:
        """Add a TransformStamped that holds for all times; what is no transform is logged and left out."""
        super().set_transform_static(transform, authority)
        self._complete_waiting()

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Moment, timeout: Duration = Duration()
    ) -> Any:
        """The TransformStamped that maps `source_frame` into `target_frame`; time zero is the latest.

        Waits up to `timeout` for it; something else has to spin meanwhile. Raises LookupException,
        ConnectivityException,
        ExtrapolationException, InvalidArgumentException.
        """
        self.can_transform(target_frame, source_frame, time, timeout)
        return self.lookup_transform_core(target_frame, source_frame, time)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
    ) -> Any:
        """As `lookup_transform`, between two times, by way of a frame that does not move between them."""
        self.can_transform_full(target_frame, target_time, source_frame, source_time, fixed_frame, timeout)
        return self.lookup_transform_full_core(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    async def lookup_transform_async(self, target_frame: str, source_frame: str, time: Moment) -> Any:
        """Await the transform."""
        return await self.wait_for_transform_async(target_frame, source_frame, time)

    async def lookup_transform_full_async(
        self, target_frame: str, target_time: Moment, source_frame: str, source_time: Moment, fixed_frame: str
    ) -> Any:
        """Await the transform between two times."""
        return await self.wait_for_transform_full_async(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Moment,
        timeout: Duration = Duration(),
        return_debug_tuple: bool = False,
    ) -> Any:
        """Whether `lookup_transform` would succeed, within `timeout`.

        With the reason where not, if asked for.
        """

        def attempt() -> tuple[bool, str]:
            return self.can_transform_core(target_frame, source_frame, time)

        return self._await(attempt, timeout, return_debug_tuple)

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
        return_debug_tuple: bool = False,
    ) -> Any:
        """Whether `lookup_transform_full` would succeed."""

        def attempt() -> tuple[bool, str]:
            return self.can_transform_full_core(
                target_frame, target_time, source_frame, source_time, fixed_frame
            )

        return self._await(attempt, timeout, return_debug_tuple)

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Moment) -> Future[Any]:
        """A future of the TransformStamped, done when it is there."""
        return self._when_found(lambda: self.lookup_transform(target_frame, source_frame, time))

    def wait_for_transform_full_async(
        self, target_frame: str, target_time: Moment, source_frame: str, source_time: Moment, fixed_frame: str
    ) -> Future[Any]:
        """A future of the TransformStamped between two times, done when it is there."""
        return self._when_found(
            lambda: self.lookup_transform_full(
                target_frame, target_time, source_frame, source_time, fixed_frame
            )
        )

    def _when_found(self, look_up: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            try:
                future.set_result(look_up())
            except TransformException:
                self._waiting.append((future, look_up))
        return future

    def _complete_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            for entry in waiting:
                future, look_up = entry
                if future.done():
                    continue
                try:
                    found = look_up()
                except TransformException:
                    self._waiting.append(entry)
                else:
                    future.set_result(found)

    def _answer_frames(self, request: Any, response: Any) -> Any:
        response.frame_yaml = self.all_frames_as_yaml()
        return response

    def _await(self, attempt: Callable[[], tuple[bool, str]], timeout: Duration, with_reason: bool) -> Any:
        deadline = self._now() + timeout.nanoseconds
        context = self._node.context if self._node is not None else get_default_context()
        while True:
            possible, reason = attempt()
            left = deadline - self._now()
            if possible or left <= 0 or not context.ok():
                return (possible, reason) if with_reason else possible
            self._tree.wait_for_change(min(left / 1e9, _WAIT_SLICE))

    def _now(self) -> int:
        return self._node.get_clock().now_ns() if self._node is not None else _time.monotonic_ns()


# Feeding a buffer from `/tf` and `/tf_static`.


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
