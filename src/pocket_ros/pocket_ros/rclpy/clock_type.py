"""The kinds of clock."""

from enum import IntEnum


class ClockType(IntEnum):
    """Where a clock's time comes from. ROS_TIME is system time until simulation time overrides it."""

    UNINITIALIZED = 0
    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3
