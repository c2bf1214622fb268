"""Coordinate frames over time: buffer, listener, broadcasters."""

from ..module_places import not_covered
from .buffer import Buffer
from .buffer_client import BufferClient
from .buffer_core import BufferCore
from .buffer_interface import (
    BufferInterface,
    ConvertRegistration,
    NotImplementedException,
    Stamped,
    TransformRegistration,
    TypeException,
    convert,
)
from .exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)
from .static_transform_broadcaster import StaticTransformBroadcaster
from .transform_broadcaster import TransformBroadcaster
from .transform_listener import TransformListener

__all__ = [
    "Buffer",
    "BufferClient",
    "BufferCore",
    "BufferInterface",
    "ConnectivityException",
    "ConvertRegistration",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "NotImplementedException",
    "Stamped",
    "StaticTransformBroadcaster",
    "TimeoutException",
    "TransformBroadcaster",
    "TransformException",
    "TransformListener",
    "TransformRegistration",
    "TypeException",
    "convert",
]

__getattr__ = not_covered("tf2_ros")
