"""A polytope around the origin that grows by vertices: the arrays of `Scratch` and what is done with them."""

from __future__ import annotations

from math import sqrt

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.convex.supports import Point
from fleet_sim.kernels import compiled

# Of the size of the polytope: what is thinner has no inside.
_THIN = 1e-10


@compiled
def normal_of(v: Floats, i: int, j: int, k: int) -> Point:
    """Return the normal of a triangle of vertices (V, 6), twice as long as its area."""
    ax, ay, az = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
    bx, by, bz = v[k, 0] - v[i, 0], v[k, 1] - v[i, 1], v[k, 2] - v[i, 2]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@compiled
def is_apart(v: Floats, place: int, size: float) -> bool:
    """Return whether the vertex at `place`, at most 3, adds a dimension to those before it."""
    x, y, z = v[place, 0] - v[0, 0], v[place, 1] - v[0, 1], v[place, 2] - v[0, 2]
    if place == 1:
        return bool(sqrt(x * x + y * y + z * z) > _THIN * size)
    nx, ny, nz = normal_of(v, 0, 1, 2)
    area = sqrt(nx * nx + ny * ny + nz * nz)
    if place == 2:
        x, y, z = v[1, 0] - v[0, 0], v[1, 1] - v[0, 1], v[1, 2] - v[0, 2]
        return bool(area > _THIN * size * sqrt(x * x + y * y + z * z))
    return bool(abs(nx * x + ny * y + nz * z) > _THIN * size * area)


@compiled
def tetrahedron(v: Floats, faces: Ints, planes: Floats) -> int:
    """Make the four faces of the first four vertices; return 4."""
    for fourth in range(4):
        i, j, k = (fourth + 1) % 4, (fourth + 2) % 4, (fourth + 3) % 4
        nx, ny, nz = normal_of(v, i, j, k)
        height = nx * (v[fourth, 0] - v[i, 0]) + ny * (v[fourth, 1] - v[i, 1]) + nz * (v[fourth, 2] - v[i, 2])
        if height > 0.0:
            j, k = k, j
        _set_face(v, faces, planes, fourth, i, j, k)
    return 4


@compiled
def _set_face(v: Floats, faces: Ints, planes: Floats, face: int, i: int, j: int, k: int) -> None:
    """Make triangle (i, j, k) of the vertices `v` a face, with its unit normal and its distance from the origin.

    A triangle without area gets an infinite distance.
    """
    faces[face, 0], faces[face, 1], faces[face, 2] = i, j, k
    nx, ny, nz = normal_of(v, i, j, k)
    length = sqrt(nx * nx + ny * ny + nz * nz)
    if length == 0.0:
        # A face without area is never the nearest one, nor seen from anywhere.
        planes[face, 0], planes[face, 1], planes[face, 2], planes[face, 3] = 0.0, 0.0, 0.0, np.inf
        return
    nx, ny, nz = nx / length, ny / length, nz / length
    planes[face, 0], planes[face, 1], planes[face, 2] = nx, ny, nz
    planes[face, 3] = nx * v[i, 0] + ny * v[i, 1] + nz * v[i, 2]


@compiled
def nearest_face(planes: Floats, count: int) -> int:
    """Return the first face whose plane is nearest to the origin."""
    face = 0
    for other in range(1, count):
        if planes[other, 3] < planes[face, 3]:
            face = other
    return face


@compiled
def grow(v: Floats, faces: Ints, planes: Floats, rim: Ints, count: int, place: int, slack: float) -> int:
    """Let the polytope hold its vertex at `place`; return how many faces it has, 0 where there is no room."""
    x, y, z = v[place, 0], v[place, 1], v[place, 2]
    edges, face = 0, 0
    while face < count:
        if planes[face, 0] * x + planes[face, 1] * y + planes[face, 2] * z <= planes[face, 3] + slack:
            face += 1
            continue
        for side in range(3):
            edges = _toggle(rim, edges, faces[face, side], faces[face, (side + 1) % 3])
        # The last face takes the place of one that is seen, and is looked at next.
        count -= 1
        for column in range(3):
            faces[face, column] = faces[count, column]
        for column in range(4):
            planes[face, column] = planes[count, column]
    if edges == 0 or count + edges > len(faces):
        return 0
    for edge in range(edges):
        _set_face(v, faces, planes, count + edge, rim[edge, 0], rim[edge, 1], place)
    return count + edges


@compiled
def _toggle(rim: Ints, edges: int, begin: int, end: int) -> int:
    """Add an edge to the rim of what is seen, or drop it where the face on its other side is seen too."""
    for edge in range(edges):
        if rim[edge, 0] == end and rim[edge, 1] == begin:
            rim[edge, 0], rim[edge, 1] = rim[edges - 1, 0], rim[edges - 1, 1]
            return edges - 1
    rim[edges, 0], rim[edges, 1] = begin, end
    return edges + 1
