"""The buffer without a node: what is there now, without waiting."""

from __future__ import annotations

import math
from bisect import bisect_left
from threading import Condition, RLock
from typing import Any, NamedTuple

from ..interfaces.classes import message_class
from ..rclpy.logging import get_logger
from ..rclpy.time import S_TO_NS, Duration, Time
from .rigid import IDENTITY, Moment, Rigid, StampedTransform, compose, interpolate, inverse, normalised

# Why a transform cannot be had.


class TransformException(Exception):
    """What all of them are."""


class LookupException(TransformException):
    """A frame does not exist."""


class ConnectivityException(TransformException):
    """The frames are in trees that are not connected."""


class ExtrapolationException(TransformException):
    """The time is outside what is known."""


class InvalidArgumentException(TransformException):
    """A frame name is empty or starts with a slash, or a transform is not a number."""


class TimeoutException(TransformException):
    """It did not become available in time."""


BY_NUMBER: dict[int, type[TransformException]] = {
    1: LookupException,
    2: ConnectivityException,
    3: ExtrapolationException,
    4: InvalidArgumentException,
    5: TimeoutException,
}
"""By the numbers of tf2_msgs/msg/TF2Error."""


# The history of one frame relative to its parents.


class Sample(NamedTuple):
    """Where a frame was in its parent at a time (nanoseconds)."""

    stamp: int
    parent: str
    transform: Rigid


class FrameCache:
    """Samples of a frame in order of time, or the one sample of a static frame."""

    def __init__(self, is_static: bool, keep_ns: int) -> None:
        self.is_static = is_static
        self._keep_ns = keep_ns
        self._samples: list[Sample] = []

    def insert(self, sample: Sample) -> bool:
        """Add a sample, in place of one with the same stamp; False where it is older than what is kept.

        What is too old goes before the new sample comes, so the first sample after a pause can still be
        interpolated with the last before it.
        """
        samples = self._samples
        if self.is_static or not samples:
            self._samples = [sample]
            return True
        oldest = samples[-1].stamp - self._keep_ns
        if samples[0].stamp < oldest:
            del samples[: bisect_left(samples, oldest, key=lambda s: s.stamp)]
        if sample.stamp < oldest:
            return False
        if sample.stamp > samples[-1].stamp:
            samples.append(sample)
            return True
        position = bisect_left(samples, sample.stamp, key=lambda s: s.stamp)
        same = int(samples[position].stamp == sample.stamp)
        samples[position : position + same] = [sample]
        return True

    def latest(self) -> Sample:
        """The newest sample."""
        return self._samples[-1]

    def oldest(self) -> Sample:
        """The oldest sample that is kept."""
        return self._samples[0]

    def __len__(self) -> int:
        return len(self._samples)

    def at(self, stamp: int) -> Sample:
        """The frame at a time, interpolated.

        0 is the newest. Raises ExtrapolationException outside what is known.
        """
        samples = self._samples
        if self.is_static or stamp == 0:
            return samples[-1]
        position = bisect_left(samples, stamp, key=lambda s: s.stamp)
        if position < len(samples) and samples[position].stamp == stamp:
            return samples[position]
        if len(samples) == 1:
            raise ExtrapolationException(
                f"Lookup would require extrapolation at time {stamp / 1e9:f}, "
                f"but only time {samples[0].stamp / 1e9:f} is in the buffer"
            )
        if position == len(samples):
            raise ExtrapolationException(_outside("future", stamp, "latest", samples[-1].stamp))
        if position == 0:
            raise ExtrapolationException(_outside("past", stamp, "earliest", samples[0].stamp))
        before, after = samples[position - 1], samples[position]
        if before.parent != after.parent:
            return before
        ratio = (stamp - before.stamp) / (after.stamp - before.stamp)
        return Sample(stamp, before.parent, interpolate(before.transform, after.transform, ratio))


def _outside(direction: str, stamp: int, which: str, known: int) -> str:
    return (
        f"Lookup would require extrapolation into the {direction}.  "
        f"Requested time {stamp / 1e9:f} but the {which} data is at time {known / 1e9:f}"
    )


# The tree of frames over time, without ROS.


_MAX_DEPTH = 1000


class KnownFrame(NamedTuple):
    """A frame, who said so last, and how much is kept of it; times in ns, both 0 for static frames."""

    name: str
    parent: str
    authority: str
    oldest: int
    newest: int
    kept: int


class FrameTree:
    """Stores transforms and answers what lies between two frames at a time. Safe from any thread."""

    def __init__(self, keep_ns: int) -> None:
        self._keep_ns = keep_ns
        self._frames: dict[str, FrameCache] = {}
        self._names: dict[str, None] = {}  # in the order in which they came up
        self._authorities: dict[str, str] = {}
        self._changed = Condition(RLock())

    def insert(
        self, parent: str, child: str, stamp: int, transform: Rigid, is_static: bool, authority: str
    ) -> bool:
        """Add a transform, its rotation normalised; False where it is too old.

        Raises InvalidArgumentException for frames without name, a frame that is its own parent, and values
        that are no rigid transform.
        """
        parent, child = parent.lstrip("/"), child.lstrip("/")
        _check(parent, child, transform)
        transform = Rigid(transform.translation, normalised(transform.rotation))
        with self._changed:
            cache = self._frames.get(child)
            if cache is None or cache.is_static != is_static:
                cache = self._frames[child] = FrameCache(is_static, self._keep_ns)
            inserted = cache.insert(Sample(stamp, parent, transform))
            self._names.update({child: None, parent: None})
            if inserted:
                self._authorities[child] = authority
                self._changed.notify_all()
            return inserted

    def lookup(self, target: str, source: str, stamp: int) -> tuple[int, Rigid]:
        """The time and the transform that maps points of `source` into `target`; time 0 is the latest common.

        Raises LookupException, ConnectivityException, ExtrapolationException, InvalidArgumentException.
        """
        with self._changed:
            self._check_known(target, "target_frame")
            self._check_known(source, "source_frame")
            if target == source:
                return stamp or self._own_time(target), IDENTITY
            if stamp == 0:
                stamp = self.latest_common_time(target, source)
            try:
                return stamp, self._between(target, source, stamp)
            except ExtrapolationException as error:
                raise ExtrapolationException(
                    f"{error}, when looking up transform from frame [{source}] to frame [{target}]"
                ) from None

    def latest_common_time(self, target: str, source: str) -> int:
        """The newest time at which the whole way between two frames is known; 0 where all of it is static.

        Raises LookupException and ConnectivityException.
        """
        with self._changed:
            self._check_known(target, "target_frame")
            self._check_known(source, "source_frame")
            times: dict[str, int | None] = {source: None}
            frame, newest = source, None
            for _ in range(_MAX_DEPTH):
                cache = self._frames.get(frame)
                if cache is None:
                    break
                newest, frame = _earlier(newest, cache), cache.latest().parent
                times[frame] = newest
            frame, newest = target, None
            for _ in range(_MAX_DEPTH):
                if frame in times:
                    found = [t for t in (newest, times[frame]) if t is not None]
                    return min(found, default=0)
                cache = self._frames.get(frame)
                if cache is None:
                    break
                newest, frame = _earlier(newest, cache), cache.latest().parent
            raise _unconnected(target, source)

    def frames(self) -> list[KnownFrame]:
        """Every frame that has a parent, in the order in which the frames came up."""
        with self._changed:
            known = [(name, self._frames[name]) for name in self._names if name in self._frames]
            return [
                KnownFrame(
                    name,
                    cache.latest().parent,
                    self._authorities[name],
                    0 if cache.is_static else cache.oldest().stamp,
                    0 if cache.is_static else cache.latest().stamp,
                    len(cache),
                )
                for name, cache in known
            ]

    def clear_dynamic(self) -> None:
        """Forget everything that is not static."""
        with self._changed:
            self._frames = {name: c for name, c in self._frames.items() if c.is_static}

    def names(self) -> list[str]:
        """Every frame that came up, parents too, in that order."""
        with self._changed:
            return list(self._names)

    def wait_for_change(self, timeout: float) -> None:
        """Wait until a transform is added, up to `timeout` seconds."""
        with self._changed:
            self._changed.wait(timeout)

    def _between(self, target: str, source: str, stamp: int) -> Rigid:
        """Walk up from both frames to the first they share."""
        above_source: dict[str, Rigid] = {source: IDENTITY}
        problem: ExtrapolationException | None = None
        frame, transform = source, IDENTITY
        for _ in range(_MAX_DEPTH):
            cache = self._frames.get(frame)
            if cache is None or frame == target:
                break
            try:
                sample = cache.at(stamp)
            except ExtrapolationException as error:
                problem = error
                break
            transform, frame = compose(sample.transform, transform), sample.parent
            above_source[frame] = transform
        frame, transform = target, IDENTITY
        for _ in range(_MAX_DEPTH):
            if frame in above_source:
                return compose(inverse(transform), above_source[frame])
            cache = self._frames.get(frame)
            if cache is None:
                break
            sample = cache.at(stamp)
            transform, frame = compose(sample.transform, transform), sample.parent
        raise problem or _unconnected(target, source)

    def _own_time(self, frame: str) -> int:
        cache = self._frames.get(frame)
        return 0 if cache is None or cache.is_static else cache.latest().stamp

    def _check_known(self, frame: str, argument: str) -> None:
        if not isinstance(frame, str):
            raise TypeError(f"{argument} must be str, not {type(frame).__name__}")
        if not frame:
            raise InvalidArgumentException(
                f'Invalid argument "" passed to lookupTransform argument {argument} - '
                "in tf2 frame_ids cannot be empty"
            )
        if frame.startswith("/"):
            raise InvalidArgumentException(
                f'Invalid argument "{frame}" passed to lookupTransform argument {argument} - '
                "in tf2 frame_ids cannot start with a '/'"
            )
        if frame not in self._names:
            raise LookupException(f'"{frame}" passed to lookupTransform argument {argument} does not exist. ')


def _earlier(newest: int | None, cache: FrameCache) -> int | None:
    if cache.is_static:
        return newest
    stamp = cache.latest().stamp
    return stamp if newest is None else min(newest, stamp)


def _unconnected(target: str, source: str) -> ConnectivityException:
    return ConnectivityException(
        f"Could not find a connection between '{target}' and '{source}' because they are not part of the "
        "same tree.Tf has two or more unconnected trees."
    )


def _check(parent: str, child: str, transform: Rigid) -> None:
    if not parent or not child:
        raise InvalidArgumentException(f"a transform needs two frames, it was '{parent}' to '{child}'")
    if parent == child:
        raise InvalidArgumentException(f"frame '{child}' cannot be its own parent")
    if not all(math.isfinite(v) for v in (*transform.translation, *transform.rotation)):
        raise InvalidArgumentException(f"the transform of '{child}' in '{parent}' is not finite: {transform}")
    if not any(transform.rotation):
        raise InvalidArgumentException(f"the rotation of '{child}' in '{parent}' is a zero quaternion")


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
