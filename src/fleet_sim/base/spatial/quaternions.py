"""Unit quaternions, xyzw, as arrays of shape (N, 4).

Every function works on contiguous components, so results do not depend on how many rows are computed together: row i is
the same bit for bit, alone and in a batch of 100,000.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import trigonometry as trig

IDENTITY: Floats = np.array([0.0, 0.0, 0.0, 1.0])
IDENTITY.flags.writeable = False

_CHUNK = 1024
"""Vectors rotated at once, few enough that the temporary arrays stay in the processor's cache."""
_TINY = 1e-12


def normalized(quaternions: Floats, what: str = "orientation") -> Floats:
    """Return unit quaternions (N, 4); raises InvalidValueError where a norm is (almost) zero or no number."""
    with np.errstate(over="ignore"):
        squares = quaternions * quaternions
        norms = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])
    if norms.size and not norms.max() < np.inf:
        # The squares of large numbers are too large: what is left is the direction, which is all that counts.
        largest = np.abs(quaternions).max(axis=1, keepdims=True)
        if not np.isfinite(largest).all():
            raise InvalidValueError(f"{what}: every number must be finite, got {quaternions.tolist()}")
        return normalized(quaternions / np.maximum(largest, 1e-6), what)
    if norms.size and norms.min() < 1e-6:
        bad = int(np.argmin(norms))
        raise InvalidValueError(
            f"{what}: a quaternion (x, y, z, w) must not be zero, got {quaternions[bad].tolist()}"
            + (f" in row {bad}" if len(quaternions) > 1 else "")
        )
    # Unit quaternions are returned bit for bit: writing a pose back must not change it.
    norms[np.abs(norms - 1.0) < 1e-12] = 1.0
    return quaternions / norms[:, None]


def _parts(array: Floats) -> list[Floats]:
    return list(np.ascontiguousarray(array.T))


def stack(*parts: AnyArray) -> Floats:
    """Return component arrays (N,) as one C-contiguous array (N, len(parts))."""
    out = np.empty((len(parts[0]), len(parts)))
    for column, part in enumerate(parts):
        out[:, column] = part
    return out


def multiply(a: Floats, b: Floats) -> Floats:
    """Return the products a * b (N, 4): first b's rotation, then a's."""
    ax, ay, az, aw = _parts(a)
    bx, by, bz, bw = _parts(b)
    return stack(
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(quaternions: Floats) -> Floats:
    """Return the inverse rotations (N, 4)."""
    return quaternions * np.array([-1.0, -1.0, -1.0, 1.0])


def rotate(quaternions: Floats, vectors: Floats) -> Floats:
    """Return `vectors` (N, 3) rotated by `quaternions` (N, 4); one of either serves for all of the others."""
    count = len(vectors) if len(quaternions) == 1 else len(quaternions)
    if len(quaternions) != len(vectors):
        quaternions, vectors = np.broadcast_to(quaternions, (count, 4)), np.broadcast_to(vectors, (count, 3))
    rotated = np.empty((count, 3))
    rotate_rows(quaternions.T, vectors.T, rotated.T)
    return rotated


def rotate_rows(quaternions: Floats, vectors: Floats, rotated: Floats) -> None:
    """Write `vectors` (3, N) rotated by `quaternions` (4, N) into `rotated` (3, N)."""
    for start in range(0, vectors.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        turn, vector = quaternions[:, part], vectors[:, part]
        # x, y, z, x, y: the components that a vector product takes next are one row further.
        q, v, t = np.empty((3, 5, vector.shape[1]))
        q[:3], q[3:], v[:3], v[3:] = turn[:3], turn[:2], vector, vector[:2]
        # v + w t + q x t with t = 2 q x v: cheaper than building the matrix.
        out = t[:3]
        np.multiply(q[1:4], v[2:], out=out)
        product = q[2:] * v[1:4]
        out -= product
        out *= 2.0
        t[3:] = t[:2]
        np.multiply(q[1:4], t[2:], out=product)
        product -= q[2:] * t[1:4]
        out *= turn[3]
        out += v[:3]
        out += product
        rotated[:, part] = out


def cross_rows(a: Floats, b: Floats) -> Floats:
    """Return the vector products (N, 3) of vectors (N, 3)."""
    ax, ay, az = _parts(a)
    bx, by, bz = _parts(b)
    return stack(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def to_matrices(quaternions: Floats) -> Floats:
    """Return rotation matrices (N, 3, 3) whose columns are the body axes in the parent frame."""
    x, y, z, w = _parts(quaternions)
    out = np.empty((len(quaternions), 3, 3))
    out[:, 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[:, 0, 1] = 2.0 * (x * y - z * w)
    out[:, 0, 2] = 2.0 * (x * z + y * w)
    out[:, 1, 0] = 2.0 * (x * y + z * w)
    out[:, 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[:, 1, 2] = 2.0 * (y * z - x * w)
    out[:, 2, 0] = 2.0 * (x * z - y * w)
    out[:, 2, 1] = 2.0 * (y * z + x * w)
    out[:, 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    return out


def from_matrix(axes: Floats) -> Floats:
    """Return the quaternion (4,) of a rotation matrix (3, 3), whose columns are the rotated axes."""
    (a, b, c), (d, e, f), (g, h, i) = axes.tolist()
    # The largest component keeps the division well conditioned.
    squares = [1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i, 1.0 + a + e + i]
    rows = (
        (squares[0], b + d, c + g, h - f),
        (b + d, squares[1], f + h, c - g),
        (c + g, f + h, squares[2], d - b),
        (h - f, c - g, d - b, squares[3]),
    )
    return normalized(np.array([rows[int(np.argmax(squares))]]))[0]


def from_yaws(yaws: Floats) -> Floats:
    """Return rotations about z (N, 4) by `yaws` (N,) in radians."""
    out = np.zeros((len(yaws), 4))
    half = 0.5 * np.ascontiguousarray(yaws)
    out[:, 2], out[:, 3] = trig.sin_cos(half)
    return out


def yaws(quaternions: Floats) -> Floats:
    """Return the heading (N,) of each body x axis in the xy plane, in (-pi, pi]."""
    x, y, z, w = _parts(quaternions)
    return np.asarray(trig.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def yaw_of(quaternions: Floats, row: int) -> float:
    """Return the heading of one of `quaternions` (N, 4), bit-identical to `yaws`."""
    x, y, z, w = quaternions[row].tolist()
    return heading_of(x, y, z, w)


def heading_of(x: float, y: float, z: float, w: float) -> float:
    """Return the heading of one quaternion, bit-identical to `yaws`."""
    return trig.atan2_of(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def from_eulers(eulers: Floats) -> Floats:
    """Return rotations (N, 4) from roll, pitch, yaw (N, 3): fixed axes x, then y, then z."""
    half = 0.5 * eulers
    sines, cosines = trig.sin_cos(half)
    sr, sp, sy = _parts(sines)
    cr, cp, cy = _parts(cosines)
    return stack(
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def to_eulers(quaternions: Floats) -> Floats:
    """Return roll, pitch, yaw (N, 3); at pitch +-pi/2 (gimbal lock) the roll is 0 and the yaw holds the whole angle."""
    x, y, z, w = _parts(quaternions)
    sine = np.clip(2.0 * (w * y - z * x), -1.0, 1.0)
    # At pitch +-pi/2 roll and yaw turn about the same axis, and both arctangents below would be of 0 and 0.
    locked_mask = np.abs(sine) > 1.0 - 1e-9
    roll = trig.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    yaw = trig.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    roll = np.where(locked_mask, 0.0, roll)
    yaw = np.where(locked_mask, -2.0 * np.sign(sine) * trig.arctan2(x, w), yaw)
    return stack(roll, trig.arcsin(sine), yaw)


def to_rotation_vectors(quaternions: Floats) -> Floats:
    """Return axis times angle (N, 3) of the shorter rotation, angle in [0, pi]."""
    x, y, z, w = _parts(quaternions)
    # q and -q are the same rotation; the one with w >= 0 turns by at most pi.
    sign = np.where(w < 0.0, -1.0, 1.0)
    sines = np.sqrt(x * x + y * y + z * z)
    angles = 2.0 * trig.arctan2(sines, np.abs(w))
    # For tiny angles angle / sin(angle / 2) tends to 2.
    scale = sign * np.where(sines > _TINY, angles / np.maximum(sines, _TINY), 2.0)
    return stack(x * scale, y * scale, z * scale)


def from_rotation_vectors(vectors: Floats) -> Floats:
    """Return the rotations (N, 4) about axis times angle (N, 3)."""
    x, y, z = _parts(vectors)
    angles = np.sqrt(x * x + y * y + z * z)
    half = 0.5 * angles
    sines, cosines = trig.sin_cos(half)
    scale = np.where(angles > _TINY, sines / np.maximum(angles, _TINY), 0.5)
    return stack(x * scale, y * scale, z * scale, cosines)


def slerp(a: Floats, b: Floats, fractions: Floats) -> Floats:
    """Return rotations (N, 4) interpolated by `fractions` (N,) along the shorter way from `a` to `b`."""
    return turned(a, turns_between(a, b), fractions)


def turns_between(a: Floats, b: Floats) -> Floats:
    """Return axis times angle (N, 3) in rad of the shorter ways from rotations `a` to `b` (N, 4)."""
    return to_rotation_vectors(multiply(b, conjugate(a)))


def turned(a: Floats, turns: Floats, fractions: Floats) -> Floats:
    """Return rotations `a` (N, 4) turned by `fractions` (N,) of `turns` (N, 3)."""
    return multiply(from_rotation_vectors(turns * np.ascontiguousarray(fractions)[:, None]), a)


def wrapped(angles: Floats) -> Floats:
    """Return `angles` wrapped to [-pi, pi)."""
    return np.asarray((angles + np.pi) % (2.0 * np.pi) - np.pi)


# Poses as pairs of arrays, positions (N, 3) and unit quaternions (N, 4): composition, inverse, relative pose. As in
# `quaternions`, the result of a row does not depend on the other rows.


def compose(
    positions: Floats, orientations: Floats, child_positions: Floats, child_orientations: Floats
) -> tuple[Floats, Floats]:
    """Return child poses, given in the frames of their parents, in the frame of the parent poses."""
    turned = multiply(orientations, child_orientations)
    return positions + rotate(orientations, child_positions), normalized(turned)


def inverse(positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
    """Return the inverse poses."""
    back = conjugate(orientations)
    return -rotate(back, positions), back


def relative(
    frame_positions: Floats, frame_orientations: Floats, positions: Floats, orientations: Floats
) -> tuple[Floats, Floats]:
    """Return poses relative to frames; both are given in the same frame."""
    back = conjugate(frame_orientations)
    turned = multiply(back, orientations)
    return rotate(back, positions - frame_positions), normalized(turned)


# Vectors of rows in component layout, (3, N): component arrays are contiguous, so a factor per row multiplies all
# components in one call, and results do not depend on how many rows are computed together.


_VECTOR: Ints = np.array([[0], [1], [2]])


def vector_index(rows: Rows) -> Ints:
    """Return the indices (3, N) of the components of `rows` in a flattened column of vectors."""
    return rows * 3 + _VECTOR


def gather(column: Floats, index: Ints) -> Floats:
    """Return the components of a column at `index`, in the shape of `index`."""
    return column.reshape(-1).take(index)


def cross(a: Floats, b: Floats) -> Floats:
    """Return the vector products (3, N) of vectors (3, N)."""
    # x, y, z, x, y: the components that a product takes next are one row further.
    a, b = np.concatenate((a, a[:2])), np.concatenate((b, b[:2]))
    out = a[1:4] * b[2:5]
    out -= a[2:5] * b[1:4]
    return out
