"""The buffer that programs ask."""

from __future__ import annotations

import time as _time
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class, service_class
from ..rclpy.constants import S_TO_NS
from ..rclpy.duration import Duration
from ..rclpy.logging import get_logger
from ..rclpy.task import Future
from ..rclpy.time import Time
from ..rclpy.utilities import get_default_context
from . import geometry
from .buffer_core import BufferCore, KnownFrame
from .buffer_interface import BufferInterface
from .exceptions import InvalidArgumentException, TransformException
from .rigid import Rigid, compose

if TYPE_CHECKING:
    from ..rclpy.node import Node

_DEFAULT_CACHE = Duration(seconds=10)
_WAIT_SLICE = 0.02
_SHORTEST_HISTORY = 1e-4  # seconds: rates of frames with less are as if they had this
_logger = get_logger("tf2_buffer")


class Buffer(BufferInterface):
    """Remembers transforms for a while and answers what lies between frames.

    With a node, timeouts are in the time of its clock, and the service `tf2_frames` tells the frames;
    without, timeouts are in system time.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        super().__init__()
        self._core = BufferCore((cache_time or _DEFAULT_CACHE).nanoseconds)
        self._node = node
        self._waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self._lock = RLock()
        geometry.register(self.registration)
        if node is not None:
            self.srv = node.create_service(
                service_class("tf2_msgs/srv/FrameGraph"), "tf2_frames", self._answer_frames
            )

    def set_transform(self, transform: Any, authority: str) -> None:
        """Add a TransformStamped; what is no transform is logged and left out."""
        self._insert(transform, authority, False)

    def set_transform_static(self, transform: Any, authority: str) -> None:
        """Add a TransformStamped that holds for all times; what is no transform is logged and left out."""
        self._insert(transform, authority, True)

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Any, timeout: Duration = Duration()
    ) -> Any:
        """The TransformStamped that maps `source_frame` into `target_frame`; time zero is the latest.

        Waits up to `timeout` for it; something else has to spin meanwhile. Raises LookupException,
        ConnectivityException,
        ExtrapolationException, InvalidArgumentException.
        """
        self.can_transform(target_frame, source_frame, time, timeout)
        stamp, found = self._core.lookup(target_frame, source_frame, _nanoseconds(time))
        return _stamped(target_frame, source_frame, stamp, found)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Any,
        source_frame: str,
        source_time: Any,
        fixed_frame: str,
        timeout: Duration = Duration(),
    ) -> Any:
        """As `lookup_transform`, between two times, by way of a frame that does not move between them."""
        self.can_transform_full(target_frame, target_time, source_frame, source_time, fixed_frame, timeout)
        stamp, found = self._full(target_frame, target_time, source_frame, source_time, fixed_frame)
        return _stamped(target_frame, source_frame, stamp, found)

    async def lookup_transform_async(self, target_frame: str, source_frame: str, time: Any) -> Any:
        """Await the transform."""
        return await self.wait_for_transform_async(target_frame, source_frame, time)

    async def lookup_transform_full_async(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
    ) -> Any:
        """Await the transform between two times."""
        return await self.wait_for_transform_full_async(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Any,
        timeout: Duration = Duration(),
        return_debug_tuple: bool = False,
    ) -> Any:
        """Whether `lookup_transform` would succeed, within `timeout`.

        With the reason where not, if asked for.
        """

        def attempt() -> object:
            return self._core.lookup(target_frame, source_frame, _nanoseconds(time))

        return self._await(attempt, timeout, return_debug_tuple)

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Any,
        source_frame: str,
        source_time: Any,
        fixed_frame: str,
        timeout: Duration = Duration(),
        return_debug_tuple: bool = False,
    ) -> Any:
        """Whether `lookup_transform_full` would succeed."""

        def attempt() -> object:
            return self._full(target_frame, target_time, source_frame, source_time, fixed_frame)

        return self._await(attempt, timeout, return_debug_tuple)

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Any) -> Future[Any]:
        """A future of the TransformStamped, done when it is there."""
        return self._when_found(lambda: self.lookup_transform(target_frame, source_frame, time))

    def wait_for_transform_full_async(
        self, target_frame: str, target_time: Any, source_frame: str, source_time: Any, fixed_frame: str
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

    def get_latest_common_time(self, target_frame: str, source_frame: str) -> Time:
        """The newest time of which the way between the frames is known.

        Raises LookupException, ConnectivityException.
        """
        stamp = self._core.latest_common_time(target_frame, source_frame)
        return Time(nanoseconds=stamp)  # of the type that `Time(seconds=1)` has, as in ROS

    def all_frames_as_string(self) -> str:
        """A line per frame that has a parent."""
        return "".join(
            f"Frame {frame.name} exists with parent {frame.parent}.\n" for frame in self._core.frames()
        )

    def all_frames_as_yaml(self) -> str:
        """The frames that have a parent: who broadcasts them, how often, and what is kept of them."""
        return "".join(_frame_as_yaml(frame) for frame in self._core.frames()) or "[]"

    def clear(self) -> None:
        """Forget everything that is not static."""
        self._core.clear_dynamic()

    def _full(
        self, target: str, target_time: Any, source: str, source_time: Any, fixed: str
    ) -> tuple[int, Rigid]:
        _, before = self._core.lookup(fixed, source, _nanoseconds(source_time))
        stamp, after = self._core.lookup(target, fixed, _nanoseconds(target_time))
        return stamp, compose(after, before)

    def _insert(self, transform: Any, authority: str, is_static: bool) -> None:
        t, r = transform.transform.translation, transform.transform.rotation
        stamp = transform.header.stamp.sec * S_TO_NS + transform.header.stamp.nanosec
        rigid = Rigid((t.x, t.y, t.z), (r.x, r.y, r.z, r.w))
        parent, child = transform.header.frame_id, transform.child_frame_id
        try:
            if not self._core.insert(parent, child, stamp, rigid, is_static, authority):
                _logger.warning(
                    f"Ignoring transform from '{authority}': that of '{child}' at {stamp / 1e9:f} is older "
                    "than what is kept"
                )
        except InvalidArgumentException as error:
            # Others' mistakes as a rule: say so, and go on with the rest.
            _logger.error(f"Ignoring transform from '{authority}': {error}")
            return
        with self._lock:
            self._complete_waiting()

    def _complete_waiting(self) -> None:
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

    def _await(self, attempt: Any, timeout: Duration, with_reason: bool) -> Any:
        deadline = self._now() + timeout.nanoseconds
        context = self._node.context if self._node is not None else get_default_context()
        while True:
            try:
                attempt()
            except TransformException as error:
                reason = str(error)
            else:
                return (True, "") if with_reason else True
            left = deadline - self._now()
            if left <= 0 or not context.ok():
                return (False, reason) if with_reason else False
            self._core.wait_for_change(min(left / 1e9, _WAIT_SLICE))

    def _now(self) -> int:
        return self._node.get_clock().now_ns() if self._node is not None else _time.monotonic_ns()


def _nanoseconds(time: Any) -> int:
    """Of an rclpy Time, a Time message or a Duration since the epoch."""
    if hasattr(time, "nanoseconds"):
        return int(time.nanoseconds)
    if hasattr(time, "sec") and hasattr(time, "nanosec"):
        return int(time.sec) * S_TO_NS + int(time.nanosec)
    raise TypeError(f"time must have sec and nanosec, or nanoseconds; it was {type(time).__name__}")


def _frame_as_yaml(frame: KnownFrame) -> str:
    length = (frame.newest - frame.oldest) / 1e9
    return (
        f"{frame.name}: \n"
        f"  parent: '{frame.parent}'\n"
        f"  broadcaster: '{frame.authority}'\n"
        f"  rate: {frame.kept / max(length, _SHORTEST_HISTORY):.3f}\n"
        f"  most_recent_transform: {frame.newest / 1e9:f}\n"
        f"  oldest_transform: {frame.oldest / 1e9:f}\n"
        f"  buffer_length: {length:.3f}\n"
    )


def _stamped(target: str, source: str, stamp: int, found: Rigid) -> Any:
    message = message_class("geometry_msgs/msg/TransformStamped")()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, S_TO_NS)
    message.header.frame_id = target
    message.child_frame_id = source
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z = found.translation
    rotation.x, rotation.y, rotation.z, rotation.w = found.rotation
    return message
