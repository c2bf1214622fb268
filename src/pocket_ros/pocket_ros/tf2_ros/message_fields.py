"""What tf2 reads of messages, for types: any class with these fields will do."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from ..rclpy.duration import Duration
from ..rclpy.time import Time


class TimeFields(Protocol):
    """A Time message."""

    sec: int
    nanosec: int


Moment: TypeAlias = Time | Duration | TimeFields
"""A time as programs give it: an rclpy Time, a Time message, or a Duration since the epoch."""


class HeaderFields(Protocol):
    """A Header message."""

    stamp: TimeFields
    frame_id: str


class VectorFields(Protocol):
    """A Vector3 or Point message."""

    x: float
    y: float
    z: float


class QuaternionFields(Protocol):
    """A Quaternion message."""

    x: float
    y: float
    z: float
    w: float


class TransformFields(Protocol):
    """A Transform message."""

    translation: VectorFields
    rotation: QuaternionFields


class StampedTransform(Protocol):
    """A TransformStamped message."""

    header: HeaderFields
    child_frame_id: str
    transform: TransformFields


class TransformsFields(Protocol):
    """A TFMessage."""

    transforms: list[StampedTransform]
