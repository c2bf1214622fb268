"""Small things that extensions of `ros2` use."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

from ..module_places import not_covered


def get_ros_domain_id() -> int:
    """The domain that the environment names, 0 without one."""
    return int(os.environ.get("ROS_DOMAIN_ID") or 0)


def wait_for(predicate: Callable[[], bool], timeout: float, period: float = 0.1) -> bool:
    """Ask again and again, at most for so many seconds; whether the answer was yes."""
    end = time.monotonic() + timeout
    while not predicate():
        left = end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(period, left))
    return True


def unsigned_int(string: str) -> int:
    """A whole number from zero on, for argparse."""
    try:
        value = int(string)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"value must be a non-negative integer, got {string!r}")
    return value


def collect_stdin() -> str:
    """All of the standard input."""
    return sys.stdin.read()


__getattr__ = not_covered("ros2cli.helpers")
