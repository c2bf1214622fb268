"""Points in time."""

from __future__ import annotations

from enum import IntEnum
from functools import total_ordering
from typing import Any, overload

from ..places import NotCovered

__all__ = ["S_TO_NS", "Time", "TimeHandle"]


# Unit conversions.


S_TO_NS = 1000 * 1000 * 1000


# The kinds of clock.


class ClockType(IntEnum):
    """Where a clock's time comes from. ROS_TIME is system time until simulation time overrides it."""

    UNINITIALIZED = 0
    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3

    # Of itself an IntEnum prints as a number, from Python 3.11 on.
    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)


# Spans of time.


_LIMIT = 2**63


@total_ordering
class Duration:
    """A span of time in whole nanoseconds. Raises OverflowError beyond 64 bits."""

    __slots__ = ("_nanoseconds",)

    get_c_duration = NotCovered()

    def __init__(self, *, seconds: int | float = 0, nanoseconds: int = 0) -> None:
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if not -_LIMIT <= total < _LIMIT:
            raise OverflowError("Total nanoseconds value is too large to store in C duration.")
        self._nanoseconds = total

    @property
    def nanoseconds(self) -> int:
        return self._nanoseconds

    def __repr__(self) -> str:
        return f"Duration(nanoseconds={self._nanoseconds})"

    def __str__(self) -> str:
        return "Infinite" if self == Infinite else f"{self._nanoseconds} nanoseconds"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Duration):
            return self._nanoseconds == other._nanoseconds
        return NotImplemented

    def __lt__(self, other: Duration) -> bool:
        if isinstance(other, Duration):
            return self._nanoseconds < other._nanoseconds
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._nanoseconds)

    def to_msg(self) -> Any:
        """As builtin_interfaces/msg/Duration."""
        from ..interfaces.classes import message_class

        sec, nanosec = divmod(self._nanoseconds, S_TO_NS)
        return message_class("builtin_interfaces/msg/Duration")(sec=sec, nanosec=nanosec)

    @classmethod
    def from_msg(cls, msg: Any) -> Duration:
        """From builtin_interfaces/msg/Duration. Raises TypeError for anything else."""
        if getattr(msg, "_type_name_", "") != "builtin_interfaces/msg/Duration":
            raise TypeError("Must pass a builtin_interfaces.msg.Duration object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec)


Infinite = Duration(nanoseconds=_LIMIT - 1)


DurationType = Duration


class Time:
    """A point in time of one kind of clock; times of different kinds cannot be compared or subtracted."""

    __slots__ = ("_clock_type", "_nanoseconds")

    def __init__(
        self, *, seconds: int | float = 0, nanoseconds: int = 0, clock_type: ClockType = ClockType.SYSTEM_TIME
    ) -> None:
        if not isinstance(clock_type, (ClockType, int)):
            raise TypeError("Clock type must be a ClockType enum")
        if seconds < 0:
            raise ValueError("Seconds value must not be negative")
        if nanoseconds < 0:
            raise ValueError("Nanoseconds value must not be negative")
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if total >= _LIMIT:
            raise OverflowError("Total nanoseconds value is too large to store in C time point.")
        self._nanoseconds = total
        self._clock_type = ClockType(clock_type)

    @property
    def nanoseconds(self) -> int:
        return self._nanoseconds

    @property
    def clock_type(self) -> ClockType:
        return self._clock_type

    def seconds_nanoseconds(self) -> tuple[int, int]:
        """Whole seconds and the remaining nanoseconds."""
        return divmod(self._nanoseconds, S_TO_NS)

    def __repr__(self) -> str:
        return f"Time(nanoseconds={self._nanoseconds}, clock_type={self._clock_type.name})"

    def __add__(self, other: Duration) -> Time:
        if not isinstance(other, Duration):
            return NotImplemented
        total = self._nanoseconds + other.nanoseconds
        if total >= _LIMIT:
            raise OverflowError("Addition leads to overflow in C storage.")
        return Time(nanoseconds=total, clock_type=self._clock_type)

    __radd__ = __add__

    @overload
    def __sub__(self, other: Time) -> Duration: ...
    @overload
    def __sub__(self, other: Duration) -> Time: ...
    def __sub__(self, other: Time | Duration) -> Time | Duration:
        if isinstance(other, Time):
            if self._clock_type != other._clock_type:
                raise TypeError("Can't subtract times with different clock types")
            return Duration(nanoseconds=self._nanoseconds - other._nanoseconds)
        if isinstance(other, Duration):
            if self._nanoseconds < other.nanoseconds:
                raise ValueError("Subtraction leads to negative time.")
            return Time(nanoseconds=self._nanoseconds - other.nanoseconds, clock_type=self._clock_type)
        return NotImplemented

    def _other(self, other: object) -> int | None:
        if not isinstance(other, Time):
            return None
        if self._clock_type != other._clock_type:
            raise TypeError("Can't compare times with different clock types")
        return other._nanoseconds

    def __eq__(self, other: object) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds == value

    def __lt__(self, other: object) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds < value

    def __le__(self, other: object) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds <= value

    def __gt__(self, other: object) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds > value

    def __ge__(self, other: object) -> bool:
        value = self._other(other)
        return NotImplemented if value is None else self._nanoseconds >= value

    def __hash__(self) -> int:
        return hash((self._nanoseconds, self._clock_type))

    def to_msg(self) -> Any:
        """As builtin_interfaces/msg/Time."""
        from ..interfaces.classes import message_class

        sec, nanosec = divmod(self._nanoseconds, S_TO_NS)
        return message_class("builtin_interfaces/msg/Time")(sec=sec, nanosec=nanosec)

    @classmethod
    def from_msg(cls, msg: Any, clock_type: ClockType = ClockType.ROS_TIME) -> Time:
        """From builtin_interfaces/msg/Time. Raises TypeError for anything else."""
        if getattr(msg, "_type_name_", "") != "builtin_interfaces/msg/Time":
            raise TypeError("Must pass a builtin_interfaces.msg.Time object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec, clock_type=clock_type)


TimeHandle = Time
