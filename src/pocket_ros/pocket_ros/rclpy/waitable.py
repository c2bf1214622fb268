"""The base of a program's own waitables, which are not covered."""

from __future__ import annotations

from typing import Any


class NumberOfEntities:
    """Raises NotImplementedError: wait sets are not rclpy's here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("rclpy.waitable.NumberOfEntities is not covered; a full ROS 2 has it")


class Waitable:
    """Raises NotImplementedError: a program cannot add its own kinds of things to wait on here."""

    def __init__(self, callback_group: Any) -> None:
        raise NotImplementedError("rclpy.waitable.Waitable is not covered; a full ROS 2 has it")
