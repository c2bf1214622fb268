"""Normals for triangles without normals: smooth, except at sharp edges."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.spatial import trigonometry as trig

CREASE = trig.sin_cos_of(math.radians(40.0))[1]
"""Cosine of the angle between two faces above which the edge between them is sharp."""
_LARGEST_SMOOTHED = 200_000
"""In triangles. Larger meshes are drawn with flat shading, as smoothing them would block cameras for seconds."""


def corner_normals(positions: Floats, triangles: Ints) -> Floats:
    """Return a unit normal (3T, 3) per corner of `triangles` (T, 3), whose vertices are at `positions` (V, 3)."""
    normals = face_normals(positions, triangles)
    if len(triangles) > _LARGEST_SMOOTHED:
        return units(np.repeat(normals, 3, axis=0))
    return units(smooth(positions[triangles.reshape(-1)], normals))


def face_normals(positions: Floats, triangles: Ints) -> Floats:
    """Return a normal (T, 3) per triangle; its length is twice the triangle's area, which weights sums of normals."""
    a, b, c = (positions[triangles[:, corner]] for corner in range(3))
    return np.cross(b - a, c - a)


def units(vectors: Floats) -> Floats:
    """Return vectors (N, 3) with length 1; zero vectors stay zero."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30))


def smooth(corners: Floats, normals: Floats) -> Floats:
    """Return a normal (3T, 3) per corner (3T, 3) of triangles with `normals` (T, 3).

    It is the sum over the triangles at the same place that do not form a sharp edge with the corner's own triangle.
    """
    places = _places(corners)
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    sizes = np.repeat(counts, counts)
    units = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    own, total = order // 3, np.zeros((len(order), 3))
    # The k-th neighbour of all corners at once: the number of rounds is the largest number of corners at one place.
    for k in range(min(int(sizes.max(initial=0)), 64)):
        members = np.flatnonzero(sizes > k)
        others = order[starts[members] + k] // 3
        near_mask = (units[own[members]] * units[others]).sum(1) > CREASE
        total[members[near_mask]] += normals[others[near_mask]]
    out = np.empty_like(total)
    out[order] = total
    # No neighbour matched, not even the corner itself: there is no area, or more than 64 corners share the place.
    lonely_mask = (out == 0.0).all(1)
    out[lonely_mask] = normals[np.flatnonzero(lonely_mask) // 3]
    return out


def _places(points: Floats) -> Ints:
    """Return a number (N,) per point (N, 3), equal for points at the same place."""
    # Column by column: np.unique with axis=0 compares rows byte by byte, which takes five times as long.
    keys = np.zeros(len(points), np.int64)
    for column in points.round(9).T:
        values, numbers = np.unique(column, return_inverse=True)
        keys = keys * len(values) + numbers
    return np.unique(keys, return_inverse=True)[1]
