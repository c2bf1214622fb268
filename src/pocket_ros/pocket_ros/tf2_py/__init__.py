"""The core of tf2: the buffer without ROS and its exceptions."""

from ..tf2_ros.buffer_core import BufferCore
from ..tf2_ros.exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)

__all__ = [
    "BufferCore",
    "ConnectivityException",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "TimeoutException",
    "TransformException",
]
