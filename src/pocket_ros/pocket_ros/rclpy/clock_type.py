"""The kinds of clock."""

from enum import IntEnum


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
