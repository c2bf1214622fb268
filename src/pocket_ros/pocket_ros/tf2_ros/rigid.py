"""Rigid transforms of single frames, in plain floats: a translation and a unit quaternion (x, y, z, w)."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple, Protocol, TypeAlias

from ..rclpy.time import Duration, Time

# What tf2 reads of messages, for types: any class with these fields will do.


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


Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
_NEARLY_PARALLEL = 0.9995


class Rigid(NamedTuple):
    """Maps points of a child frame into its parent: rotate, then translate."""

    translation: Vector
    rotation: Quaternion


IDENTITY = Rigid((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def normalised(q: Quaternion) -> Quaternion:
    """A rotation of any length as a unit quaternion; one of length one as it is. Raises ZeroDivisionError."""
    length = math.hypot(*q)
    return q if length == 1.0 else (q[0] / length, q[1] / length, q[2] / length, q[3] / length)


def rotation_of(message: QuaternionFields) -> Quaternion:
    """The rotation of a Quaternion message, of length one; one of no length rotates nothing, as in ROS."""
    q = (message.x, message.y, message.z, message.w)
    return IDENTITY.rotation if math.hypot(*q) ** 2 < sys.float_info.epsilon else normalised(q)


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Rotation by `b`, then by `a`."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotate(q: Quaternion, v: Vector) -> Vector:
    """A vector after a rotation."""
    qx, qy, qz, qw = q
    x, y, z = v
    tx, ty, tz = 2.0 * (qy * z - qz * y), 2.0 * (qz * x - qx * z), 2.0 * (qx * y - qy * x)
    return (x + qw * tx + qy * tz - qz * ty, y + qw * ty + qz * tx - qx * tz, z + qw * tz + qx * ty - qy * tx)


def compose(outer: Rigid, inner: Rigid) -> Rigid:
    """First `inner`, then `outer`."""
    x, y, z = rotate(outer.rotation, inner.translation)
    tx, ty, tz = outer.translation
    return Rigid((x + tx, y + ty, z + tz), multiply(outer.rotation, inner.rotation))


def inverse(transform: Rigid) -> Rigid:
    """The way back."""
    x, y, z, w = transform.rotation
    rotation = (-x, -y, -z, w)
    tx, ty, tz = rotate(rotation, transform.translation)
    return Rigid((-tx, -ty, -tz), rotation)


def interpolate(a: Rigid, b: Rigid, ratio: float) -> Rigid:
    """From `a` (0) to `b` (1): straight for the translation, along the shorter arc for the rotation."""
    (ax, ay, az), (bx, by, bz) = a.translation, b.translation
    translation = (ax + (bx - ax) * ratio, ay + (by - ay) * ratio, az + (bz - az) * ratio)
    return Rigid(translation, _slerp(a.rotation, b.rotation, ratio))


def _slerp(a: Quaternion, b: Quaternion, ratio: float) -> Quaternion:
    cosine = sum(i * j for i, j in zip(a, b, strict=True))
    if cosine < 0.0:
        b, cosine = (-b[0], -b[1], -b[2], -b[3]), -cosine
    if cosine > _NEARLY_PARALLEL:
        first, second = 1.0 - ratio, ratio
    else:
        angle = math.acos(cosine)
        first, second = math.sin((1.0 - ratio) * angle), math.sin(ratio * angle)
    mixed = [first * i + second * j for i, j in zip(a, b, strict=True)]
    norm = math.sqrt(sum(i * i for i in mixed))
    return (mixed[0] / norm, mixed[1] / norm, mixed[2] / norm, mixed[3] / norm)
