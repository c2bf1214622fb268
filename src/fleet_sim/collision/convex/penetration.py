"""How deep two convex cores are in each other: a polytope grows in their difference towards its nearest face.

(The expanding polytope algorithm of van den Bergen.) The depth found is that of a translation which separates the
cores, so it is never too small; it is the least one up to `_EXACT` unless the polytope has no room left to grow.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.collision.convex.polytope import grow, is_apart, nearest_face, normal_of, tetrahedron
from fleet_sim.collision.convex.simplex import SHARE, nearest_on_triangle
from fleet_sim.collision.convex.supports import Point, farthest
from fleet_sim.collision.convex.tables import COUNT, KIND, MOST_VERTICES, START, Pieces, Scratch
from fleet_sim.kernels import compiled

# In m, and as a share of the depth.
_EXACT = 1e-6
# Of the size of the difference: what is nearer to a face is on it.
_ON = 1e-13


@compiled
def penetration(pieces: Pieces, one: int, two: int, scratch: Scratch) -> float:
    """Return how far the second core, at `scratch.relative`, must move to leave the first.

    Begins with the simplex that `separation` left, which holds the origin. Writes points of both cores and the
    direction in which the first one has to leave to `scratch.found[1:]`. Returns 0 for cores whose difference is flat,
    as that of two crossing segments: they leave across it.
    """
    v, planes = scratch.vertices, scratch.planes
    count = _enclose(pieces, one, two, scratch)
    if count < 4:
        _note_flat(scratch, count)
        return 0.0
    faces, least, size = tetrahedron(v, scratch.faces, planes), np.inf, 0.0
    for vertex in range(4):
        size = max(size, abs(v[vertex, 0]), abs(v[vertex, 1]), abs(v[vertex, 2]))
    while faces > 0:
        face = nearest_face(planes, faces)
        x, y, z = planes[face, 0], planes[face, 1], planes[face, 2]
        _reach(pieces, one, two, x, y, z, count, scratch)
        along = x * v[count, 0] + y * v[count, 1] + z * v[count, 2]
        least = min(least, along)
        on_face = along - planes[face, 3] <= _EXACT * (1.0 + along)
        if along == least or on_face:
            scratch.found[7], scratch.found[8], scratch.found[9] = x, y, z
        if on_face or least - planes[face, 3] <= _EXACT * (1.0 + least) or count == MOST_VERTICES - 1:
            break
        faces = grow(v, scratch.faces, planes, scratch.rim, faces, count, _ON * size)
        count += 1
    _note_points(scratch, faces, least)
    return max(least, 0.0)


@compiled
def _reach(pieces: Pieces, one: int, two: int, x: float, y: float, z: float, place: int, scratch: Scratch) -> None:
    """Write the farthest point of the difference along a direction to vertex `place`."""
    codes, sizes, corners, r, v = pieces.codes, pieces.sizes, pieces.corners, scratch.relative, scratch.vertices
    ax, ay, az = _farthest_of(codes, sizes, corners, one, x, y, z)
    bx, by, bz = r[0] * x + r[3] * y + r[6] * z, r[1] * x + r[4] * y + r[7] * z, r[2] * x + r[5] * y + r[8] * z
    bx, by, bz = _farthest_of(codes, sizes, corners, two, -bx, -by, -bz)
    v[place, 0] = ax - (r[0] * bx + r[1] * by + r[2] * bz + r[9])
    v[place, 1] = ay - (r[3] * bx + r[4] * by + r[5] * bz + r[10])
    v[place, 2] = az - (r[6] * bx + r[7] * by + r[8] * bz + r[11])
    v[place, 3], v[place, 4], v[place, 5] = ax, ay, az


@compiled
def _farthest_of(codes: Ints, sizes: Floats, corners: Floats, piece: int, x: float, y: float, z: float) -> Point:
    a, b, c = sizes[piece, 0], sizes[piece, 1], sizes[piece, 2]
    return farthest(codes[piece, KIND], a, b, c, corners, codes[piece, START], codes[piece, COUNT], x, y, z)


@compiled
def _axis(axis: int) -> Point:
    return 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0


@compiled
def _enclose(pieces: Pieces, one: int, two: int, scratch: Scratch) -> int:
    """Make a tetrahedron of a simplex that holds the origin; return how many vertices it has, 4 unless all is flat."""
    v, s, size = scratch.vertices, scratch.simplex, 0.0
    for axis in range(3):
        # The size of the difference, by its width along each axis.
        x, y, z = _axis(axis)
        _reach(pieces, one, two, x, y, z, 0, scratch)
        _reach(pieces, one, two, -x, -y, -z, 1, scratch)
        size = max(size, v[0, axis] - v[1, axis])
    kept = 0
    # Corners of a simplex may lie on a line or in a plane up to rounding: those add nothing.
    for corner in range(4):
        if s[corner, SHARE] > 0.0:
            for column in range(6):
                v[kept, column] = s[corner, column]
            if kept == 0 or is_apart(v, kept, size):
                kept += 1
    while kept < 4 and _widen(pieces, one, two, kept, size, scratch):
        kept += 1
    return kept


@compiled
def _widen(pieces: Pieces, one: int, two: int, count: int, size: float, scratch: Scratch) -> bool:
    """Add a vertex to less than four; return False where the difference has none off their line or plane."""
    v = scratch.vertices
    dx, dy, dz = 0.0, 0.0, 0.0
    if count == 2:
        dx, dy, dz = v[1, 0] - v[0, 0], v[1, 1] - v[0, 1], v[1, 2] - v[0, 2]
    elif count == 3:
        dx, dy, dz = normal_of(v, 0, 1, 2)
    for axis in range(3):
        x, y, z = _axis(axis)
        if count == 2:
            # Across the edge and an axis.
            x, y, z = dy * z - dz * y, dz * x - dx * z, dx * y - dy * x
        elif count == 3:
            x, y, z = dx, dy, dz
        for _ in range(2):
            if x * x + y * y + z * z > 0.0:
                _reach(pieces, one, two, x, y, z, count, scratch)
                if is_apart(v, count, size):
                    return True
            x, y, z = -x, -y, -z
    return False


@compiled
def _note_points(scratch: Scratch, faces: int, depth: float) -> None:
    """Write the point of the polytope where the way out begins, as points of both cores.

    Several faces may be in one plane, so it is not on the nearest one alone that it may be.
    """
    s, v, found = scratch.simplex, scratch.vertices, scratch.found
    x, y, z = depth * found[7], depth * found[8], depth * found[9]
    nearest = np.inf
    for face in range(faces):
        for corner in range(3):
            vertex = scratch.faces[face, corner]
            s[corner, 0], s[corner, 1], s[corner, 2] = v[vertex, 0] - x, v[vertex, 1] - y, v[vertex, 2] - z
        square = nearest_on_triangle(s, 0, 1, 2)
        if square < nearest:
            nearest = square
            for axis in range(3):
                point = 0.0
                for corner in range(3):
                    point += s[corner, SHARE] * v[scratch.faces[face, corner], 3 + axis]
                found[1 + axis], found[4 + axis] = point, point - depth * found[7 + axis]


@compiled
def _note_flat(scratch: Scratch, count: int) -> None:
    """Write a point that both cores have, and the direction across their flat difference of `count` vertices."""
    found, v, s = scratch.found, scratch.vertices, scratch.simplex
    x, y, z = 0.0, 0.0, 1.0
    if count == 2:
        x, y, z = v[1, 0] - v[0, 0], v[1, 1] - v[0, 1], v[1, 2] - v[0, 2]
        # Across the edge and the axis that it follows least.
        if abs(x) <= abs(y) and abs(x) <= abs(z):
            x, y, z = 0.0, z, -y
        elif abs(y) <= abs(z):
            x, y, z = -z, 0.0, x
        else:
            x, y, z = y, -x, 0.0
    elif count == 3:
        x, y, z = normal_of(v, 0, 1, 2)
    length = sqrt(x * x + y * y + z * z)
    found[7], found[8], found[9] = x / length, y / length, z / length
    for axis in range(3):
        point = 0.0
        for corner in range(4):
            point += s[corner, SHARE] * s[corner, 3 + axis]
        found[1 + axis], found[4 + axis] = point, point
