"""Vectors and quaternions of rows in component layout, (3, N) and (6, N): gathered from columns and written back.

Component arrays are contiguous, so a factor per row multiplies all components in one call, and results do not depend
on how many rows are computed together. Vectors may repeat x and y after z ("cyclic", (5, N)), quaternions are
(x, y, z, x, y, w): a cross product is then two products of slices.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows

_VECTOR: Ints = np.array([[0], [1], [2]])


def vector_index(rows: Rows) -> Ints:
    """Return the indices (3, N) of the components of `rows` in a flattened column of vectors."""
    return rows * 3 + _VECTOR


def gather(column: Floats, index: Ints) -> Floats:
    """Return the components of a column at `index`, in the shape of `index`."""
    return column.reshape(-1).take(index)


def scatter(column: Floats, index: Ints, values: Floats) -> None:
    """Write the components `values` back to a column at `index`."""
    column.reshape(-1)[index] = values


def gather_quaternions(column: Floats, rows: Rows) -> Floats:
    """Return the quaternions of `rows` as (x, y, z, x, y, w), shape (6, N)."""
    parts = column.take(rows, axis=0).T
    out = np.empty((6, len(rows)))
    out[:3] = parts[:3]
    out[3:5] = out[:2]
    out[5] = parts[3]
    return out


def dot(a: Floats, b: Floats) -> Floats:
    """Return the scalar products (N,) of vectors (3, N)."""
    products = a * b
    out: Floats = products[0] + products[1]
    out += products[2]
    return out


def cyclic(vectors: Floats) -> Floats:
    """Return vectors (3, N) with x and y repeated, (5, N)."""
    return np.concatenate((vectors, vectors[:2]))


def _cross(a: Floats, b: Floats) -> Floats:
    out = a[1:4] * b[2:5]
    out -= a[2:5] * b[1:4]
    return out


def to_body(quaternions: Floats, vectors: Floats) -> Floats:
    """Return world `vectors` (3, N) in the frames rotated by `quaternions` (6, N)."""
    # The rotation by a unit quaternion as two vector products, which needs no matrix; so below.
    twice = _cross(quaternions, cyclic(vectors))
    twice += twice
    out: Floats = vectors - quaternions[5] * twice
    out += _cross(quaternions, cyclic(twice))
    return out


def to_world(quaternions: Floats, vectors: Floats) -> Floats:
    """Return `vectors` (3, N), given in the frames rotated by `quaternions` (6, N), in the world frame."""
    twice = _cross(quaternions, cyclic(vectors))
    twice += twice
    out: Floats = vectors + quaternions[5] * twice
    out += _cross(quaternions, cyclic(twice))
    return out


def cross(a: Floats, b: Floats) -> Floats:
    """Return the vector products (3, N) of vectors (3, N)."""
    return _cross(cyclic(a), cyclic(b))
