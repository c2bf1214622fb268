"""Kernels of rotations: one quaternion or angle at a time, bit-identical to `spatial.quaternions`.

Quaternions are (x, y, z, w), vectors (x, y, z), both as tuples.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.spatial import trigonometry as trig

Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]

sin_cos = compiled_step(trig.sin_cos_of)
atan2 = compiled_step(trig.atan2_of)

_TINY = 1e-12
# As in `normalized`: below, a quaternion has no direction.
_SHORTEST = 1e-6


@compiled_step
def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product a * b: first b's rotation, then a's."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@compiled_step
def norm_of(q: Quaternion) -> float:
    """Return the norm, exactly 1 where it is so near that `normalized` leaves the numbers as they are.

    NaN where `quaternions.normalized` would reject them, or treat them in another way.
    """
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if not _SHORTEST <= norm < math.inf:
        return math.nan
    return 1.0 if abs(norm - 1.0) < 1e-12 else norm


@compiled_step
def heading(q: Quaternion) -> float:
    """Return the heading of the body's x axis, as `quaternions.yaws`."""
    x, y, z, w = q
    return float(atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


@compiled_step
def to_rotation_vector(q: Quaternion) -> Vector:
    """Return axis times angle of the shorter rotation."""
    x, y, z, w = q
    sign = -1.0 if w < 0.0 else 1.0
    sine = math.sqrt(x * x + y * y + z * z)
    angle = 2.0 * atan2(sine, abs(w))
    scale = sign * (angle / max(sine, _TINY) if sine > _TINY else 2.0)
    return x * scale, y * scale, z * scale


@compiled_step
def from_rotation_vector(vector: Vector) -> Quaternion:
    """Return the rotation about axis times angle."""
    x, y, z = vector
    angle = math.sqrt(x * x + y * y + z * z)
    sine, cosine = sin_cos(0.5 * angle)
    scale = sine / max(angle, _TINY) if angle > _TINY else 0.5
    return x * scale, y * scale, z * scale, cosine


@compiled_step
def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled_step
def rotate(q: Quaternion, v: Vector) -> Vector:
    """Return a rotated vector, as `quaternions.rotate`, which rounds otherwise than `to_world`."""
    x, y, z, w = q
    tx, ty, tz = 2.0 * (y * v[2] - z * v[1]), 2.0 * (z * v[0] - x * v[2]), 2.0 * (x * v[1] - y * v[0])
    return (v[0] + w * tx + (y * tz - z * ty), v[1] + w * ty + (z * tx - x * tz), v[2] + w * tz + (x * ty - y * tx))


@compiled_step
def to_body(q: Quaternion, v: Vector) -> Vector:
    """Return a world vector in the frame rotated by `q`, as `components.to_body`."""
    tx, ty, tz = cross((q[0], q[1], q[2]), v)
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    cx, cy, cz = cross((q[0], q[1], q[2]), (tx, ty, tz))
    return (v[0] - q[3] * tx) + cx, (v[1] - q[3] * ty) + cy, (v[2] - q[3] * tz) + cz


@compiled_step
def to_world(q: Quaternion, v: Vector) -> Vector:
    """Return a vector of the frame rotated by `q` in the world frame, as `components.to_world`."""
    tx, ty, tz = cross((q[0], q[1], q[2]), v)
    tx, ty, tz = tx + tx, ty + ty, tz + tz
    cx, cy, cz = cross((q[0], q[1], q[2]), (tx, ty, tz))
    return (v[0] + q[3] * tx) + cx, (v[1] + q[3] * ty) + cy, (v[2] + q[3] * tz) + cz


@compiled_step
def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product, added in the order of `components.dot`."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
