"""The buffer without a node: what is there now, without waiting."""

from __future__ import annotations

from typing import Any

from ..interfaces.classes import message_class
from ..rclpy.constants import S_TO_NS
from ..rclpy.duration import Duration
from ..rclpy.logging import get_logger
from ..rclpy.time import Time
from .exceptions import InvalidArgumentException, TransformException
from .frame_tree import FrameTree, KnownFrame
from .message_fields import Moment, StampedTransform
from .rigid import Rigid, compose

DEFAULT_CACHE = Duration(seconds=10)
_SHORTEST_HISTORY = 1e-4  # seconds: rates of frames with less are as if they had this
_NO_VELOCITIES = (
    "BufferCore.{} is not covered by pocket_ros; a full ROS 2 has it. Look up two transforms instead"
)
_logger = get_logger("tf2_buffer")


class BufferCore:
    """Remembers transforms for `cache_time` and answers what lies between frames. Safe from any thread."""

    def __init__(self, cache_time: Duration = DEFAULT_CACHE) -> None:
        self._tree = FrameTree(_nanoseconds(cache_time))

    def set_transform(self, transform: StampedTransform, authority: str) -> None:
        """Add a TransformStamped; what is no transform is logged and left out."""
        self._insert(transform, authority, False)

    def set_transform_static(self, transform: StampedTransform, authority: str) -> None:
        """Add a TransformStamped that holds for all times; what is no transform is logged and left out."""
        self._insert(transform, authority, True)

    def lookup_transform_core(self, target_frame: str, source_frame: str, time: Moment) -> Any:
        """The TransformStamped that maps `source_frame` into `target_frame`; time zero is the latest.

        Raises LookupException, ConnectivityException, ExtrapolationException, InvalidArgumentException.
        """
        stamp, found = self._tree.lookup(target_frame, source_frame, _nanoseconds(time))
        return _stamped(target_frame, source_frame, stamp, found)

    def lookup_transform_full_core(
        self, target_frame: str, target_time: Moment, source_frame: str, source_time: Moment, fixed_frame: str
    ) -> Any:
        """As `lookup_transform_core`, between two times, by a frame that does not move between them."""
        stamp, found = self._full(target_frame, target_time, source_frame, source_time, fixed_frame)
        return _stamped(target_frame, source_frame, stamp, found)

    def can_transform_core(self, target_frame: str, source_frame: str, time: Moment) -> tuple[bool, str]:
        """Whether `lookup_transform_core` would succeed, and the reason where not."""
        try:
            self._tree.lookup(target_frame, source_frame, _nanoseconds(time))
        except TransformException as error:
            return False, str(error)
        return True, ""

    def can_transform_full_core(
        self, target_frame: str, target_time: Moment, source_frame: str, source_time: Moment, fixed_frame: str
    ) -> tuple[bool, str]:
        """Whether `lookup_transform_full_core` would succeed, and the reason where not."""
        try:
            self._full(target_frame, target_time, source_frame, source_time, fixed_frame)
        except TransformException as error:
            return False, str(error)
        return True, ""

    def get_latest_common_time(self, target_frame: str, source_frame: str) -> Time:
        """The newest time of which the way between the frames is known.

        Raises LookupException, ConnectivityException.
        """
        stamp = self._tree.latest_common_time(target_frame, source_frame)
        return Time(nanoseconds=stamp)  # of the type that `Time(seconds=1)` has, as in ROS

    def all_frames_as_string(self) -> str:
        """A line per frame that has a parent."""
        return "".join(
            f"Frame {frame.name} exists with parent {frame.parent}.\n" for frame in self._tree.frames()
        )

    def all_frames_as_yaml(self) -> str:
        """The frames that have a parent: who broadcasts them, how often, and what is kept of them."""
        return "".join(_frame_as_yaml(frame) for frame in self._tree.frames()) or "[]"

    def clear(self) -> None:
        """Forget everything that is not static."""
        self._tree.clear_dynamic()

    def lookupVelocityCore(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_NO_VELOCITIES.format("lookupVelocityCore"))

    def lookupVelocityFullCore(self, *args: Any) -> Any:
        raise NotImplementedError(_NO_VELOCITIES.format("lookupVelocityFullCore"))

    def _frameExists(self, frame_id: str) -> bool:
        return frame_id in self._tree.names()

    def _getFrameStrings(self) -> list[str]:
        return self._tree.names()

    def _full(
        self, target: str, target_time: Moment, source: str, source_time: Moment, fixed: str
    ) -> tuple[int, Rigid]:
        _, before = self._tree.lookup(fixed, source, _nanoseconds(source_time))
        stamp, after = self._tree.lookup(target, fixed, _nanoseconds(target_time))
        return stamp, compose(after, before)

    def _insert(self, transform: StampedTransform, authority: str, is_static: bool) -> None:
        t, r = transform.transform.translation, transform.transform.rotation
        stamp = transform.header.stamp.sec * S_TO_NS + transform.header.stamp.nanosec
        rigid = Rigid((t.x, t.y, t.z), (r.x, r.y, r.z, r.w))
        parent, child = transform.header.frame_id, transform.child_frame_id
        try:
            if not self._tree.insert(parent, child, stamp, rigid, is_static, authority):
                _logger.warning(
                    f"Ignoring transform from '{authority}': that of '{child}' at {stamp / 1e9:f} is older "
                    "than what is kept"
                )
        except InvalidArgumentException as error:
            # Others' mistakes as a rule: say so, and go on with the rest.
            _logger.error(f"Ignoring transform from '{authority}': {error}")


def _nanoseconds(time: Moment) -> int:
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
