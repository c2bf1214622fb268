"""Coordinate frames over time: buffer, listener, broadcasters."""

from ..places import not_covered, offer_places
from .buffer import Buffer, StaticTransformBroadcaster, TransformBroadcaster, TransformListener
from .buffer_client import BufferClient
from .buffer_core import (
    BufferCore,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)
from .buffer_interface import (
    BufferInterface,
    ConvertRegistration,
    NotImplementedException,
    Stamped,
    TransformRegistration,
    TypeException,
    convert,
)

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

offer_places(__name__)
