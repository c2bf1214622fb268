"""When a message was made."""

from __future__ import annotations

from typing import Any

from ..rclpy.clock import ROSClock
from ..rclpy.logging import get_logger
from ..rclpy.time import Time


def stamp_of(msg: Any, *, allow_headerless: bool, logger_name: str) -> Time | None:
    """The stamp in the header.

    Without one it is the present where that is allowed, otherwise None, and a warning is logged.
    """
    stamp = getattr(getattr(msg, "header", None), "stamp", None)
    if stamp is not None:
        return stamp if hasattr(stamp, "nanoseconds") else Time.from_msg(stamp)
    if allow_headerless:
        return ROSClock().now()
    get_logger(logger_name).warning(
        f"ignored a {type(msg).__name__}: it has no header with a stamp; allow_headerless=True takes the "
        "time of its arrival instead"
    )
    return None
