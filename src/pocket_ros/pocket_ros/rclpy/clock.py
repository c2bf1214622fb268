"""Clocks, and callbacks on jumps of simulated time."""

from __future__ import annotations

import time as _time
from collections.abc import Callable
from enum import IntEnum
from threading import Condition, RLock
from typing import Any, TypeAlias, TypedDict
from weakref import WeakSet

from ..places import NotCovered
from .context import Context, get_default_context
from .entity import Handle, WithBlock
from .exceptions import NotInitializedException
from .time import ClockType, Duration, Time

JumpHandlePreCallbackType: TypeAlias = Callable[[], None]


class ClockChange(IntEnum):
    """What happened to the source of a ROS clock."""

    ROS_TIME_NO_CHANGE = 1
    ROS_TIME_ACTIVATED = 2
    ROS_TIME_DEACTIVATED = 3
    SYSTEM_TIME_NO_CHANGE = 4


class JumpThreshold:
    """Which jumps a callback wants to hear of.

    Raises ValueError where nothing is enabled or a sign is wrong.
    """

    def __init__(
        self, *, min_forward: Duration | None, min_backward: Duration | None, on_clock_change: bool = True
    ) -> None:
        if min_forward is not None and min_forward.nanoseconds <= 0:
            raise ValueError("min_forward must be a positive non-zero duration")
        if min_backward is not None and min_backward.nanoseconds >= 0:
            raise ValueError("min_backward must be a negative non-zero duration")
        if min_forward is None and min_backward is None and not on_clock_change:
            raise ValueError("At least one jump threshold must be enabled")
        self.min_forward = min_forward
        self.min_backward = min_backward
        self.on_clock_change = on_clock_change


class TimeJump:
    """A jump: the change of source and by how much the time moved."""

    def __init__(self, clock_change: ClockChange, delta: Duration) -> None:
        if not isinstance(clock_change, ClockChange):
            raise TypeError("clock_change must be an instance of rclpy.clock.ClockChange")
        self.clock_change = clock_change
        self.delta = delta


class TimeJumpDictionary(TypedDict):
    """A time jump as rclpy's C extension reports it."""

    clock_change: ClockChange
    delta: int


class JumpHandle(WithBlock):
    """A registered pair of jump callbacks; unregisters at the end of a `with` block or by `unregister`."""

    def __init__(
        self,
        *,
        clock: Clock,
        threshold: JumpThreshold,
        pre_callback: Callable[[], None] | None,
        post_callback: Callable[[TimeJump], None] | None,
    ) -> None:
        if pre_callback is None and post_callback is None:
            raise ValueError("One of pre_callback or post_callback must be callable")
        for name, callback in (("pre_callback", pre_callback), ("post_callback", post_callback)):
            if callback is not None and not callable(callback):
                raise ValueError(f"{name} must be callable if given")
        self.threshold = threshold
        self.pre_callback = pre_callback
        self.post_callback = post_callback
        self._clock: Clock | None = clock
        clock._jump_handles.append(self)

    def unregister(self) -> None:
        """No longer call."""
        if self._clock is not None and self in self._clock._jump_handles:
            self._clock._jump_handles.remove(self)
        self._clock = None

    def _end_block(self) -> None:
        self.unregister()

    def wants(self, change: ClockChange, delta: int) -> bool:
        """Whether the thresholds cover a jump of `delta` nanoseconds."""
        threshold = self.threshold
        if change in (ClockChange.ROS_TIME_ACTIVATED, ClockChange.ROS_TIME_DEACTIVATED):
            return threshold.on_clock_change
        forward, backward = threshold.min_forward, threshold.min_backward
        return bool(
            (forward and delta >= forward.nanoseconds) or (backward and delta <= backward.nanoseconds)
        )


class Clock:
    """A clock; of type ROS_TIME it is a ROSClock. Raises TypeError for what is no ClockType."""

    _type: ClockType
    _jump_handles: list[JumpHandle]
    _timers: WeakSet[Any]
    _changed: Condition

    def __new__(cls, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> Clock:
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        self = super().__new__(ROSClock if clock_type is ClockType.ROS_TIME else cls)
        self._type = clock_type
        self._jump_handles = []
        self._timers = WeakSet()
        self._changed = Condition(RLock())
        return self

    @property
    def clock_type(self) -> ClockType:
        return self._type

    @property
    def handle(self) -> ClockHandle:
        """What stands for the clock in a `with` block."""
        return ClockHandle(self)

    def __repr__(self) -> str:
        return f"Clock(clock_type={self._type.name})"

    def now_ns(self) -> int:
        """The time in nanoseconds."""
        return _time.monotonic_ns() if self._type is ClockType.STEADY_TIME else _time.time_ns()

    @property
    def is_simulated(self) -> bool:
        """Whether the time comes from `/clock`."""
        return False

    def now(self) -> Time:
        """The time."""
        return Time(nanoseconds=self.now_ns(), clock_type=self._type)

    def create_jump_callback(
        self,
        threshold: JumpThreshold,
        *,
        pre_callback: Callable[[], None] | None = None,
        post_callback: Callable[[TimeJump], None] | None = None,
    ) -> JumpHandle:
        """Call on jumps of the time, before and after."""
        return JumpHandle(
            clock=self, threshold=threshold, pre_callback=pre_callback, post_callback=post_callback
        )

    def sleep_until(self, until: Time, context: Context | None = None) -> bool:
        """Sleep until a time of this clock; False when shutdown or a change of the source cut it short.

        Raises NotInitializedException, and ValueError for a time of another clock type.
        """
        context = get_default_context() if context is None else context
        if not context.ok():
            raise NotInitializedException()
        if until.clock_type != self._type:
            raise ValueError("until's clock type does not match this clock's type")
        simulated = self.is_simulated
        context.on_shutdown(self._wake_sleepers)
        with self._changed:
            while context.ok() and self.is_simulated == simulated:
                left = until.nanoseconds - self.now_ns()
                if left <= 0:
                    return True
                self._changed.wait(None if simulated else left / 1e9)
        return False

    def sleep_for(self, rel_time: Duration, context: Context | None = None) -> bool:
        """Sleep for a duration of this clock, as `sleep_until` does."""
        return self.sleep_until(self.now() + rel_time, context)

    def _wake_sleepers(self) -> None:
        with self._changed:
            self._changed.notify_all()


class ROSClock(Clock):
    """System time, or the time from `/clock` while that is active."""

    # Of the class: `Clock(clock_type=ClockType.ROS_TIME)` makes one without coming by here.
    _override = 0
    _active = False

    def __new__(cls, *, clock_type: ClockType = ClockType.ROS_TIME) -> ROSClock:
        return super().__new__(cls, clock_type=ClockType.ROS_TIME)  # type: ignore[return-value]

    @property
    def ros_time_is_active(self) -> bool:
        return self._active

    @property
    def is_simulated(self) -> bool:
        return self._active

    def now_ns(self) -> int:
        return self._override if self._active else _time.time_ns()

    def set_ros_time_override(self, time: Time) -> None:
        """The time from now on, while active; it may be of any clock type. Raises TypeError for no Time."""
        if not isinstance(time, Time):
            raise TypeError(f"Time must be specified as rclpy.time.Time, not as {type(time).__name__}")
        self._jump(ClockChange.ROS_TIME_NO_CHANGE, self._active, time.nanoseconds)

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        if enabled != self._active:
            change = ClockChange.ROS_TIME_ACTIVATED if enabled else ClockChange.ROS_TIME_DEACTIVATED
            self._jump(change, enabled, self._override)

    def _jump(self, change: ClockChange, active: bool, override: int) -> None:
        before = self.now_ns()
        after = override if active else _time.time_ns()
        delta = after - before
        moved = active or change is not ClockChange.ROS_TIME_NO_CHANGE
        called = [h for h in list(self._jump_handles) if moved and h.wants(change, delta)]
        for handle in called:
            if handle.pre_callback is not None:
                handle.pre_callback()
        with self._changed:
            self._active, self._override = active, override
            self._changed.notify_all()
        jump = TimeJump(change, Duration(nanoseconds=delta))
        for handle in called:
            if handle.post_callback is not None:
                handle.post_callback(jump)
        if moved:
            for timer in list(self._timers):
                timer.clock_moved(jump)


class ClockHandle(Handle[Clock]):
    """The handle of a clock."""

    get_now = NotCovered()
    get_ros_time_override_is_enabled = NotCovered()
    set_ros_time_override_is_enabled = NotCovered()
    set_ros_time_override = NotCovered()
    add_clock_callback = NotCovered()
    remove_clock_callback = NotCovered()
