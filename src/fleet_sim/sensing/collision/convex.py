"""The signed distance of two convex pieces: separation (GJK), penetration (a growing polytope), and their arrays."""

from __future__ import annotations

from math import copysign, sqrt
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.kernels import compiled

# The point of a simplex that is nearest to the origin.


SHARE = 6
"""The column of a corner's share in the nearest point; its place is in the first three."""
# A tetrahedron of less volume than this share of its sides' product is flat: the origin is not inside.
_FLAT = 1e-14


@compiled
def _clear(s: Floats) -> None:
    s[0, SHARE], s[1, SHARE], s[2, SHARE], s[3, SHARE] = 0.0, 0.0, 0.0, 0.0


@compiled
def nearest_on_segment(s: Floats, i: int, j: int) -> float:
    """Set the shares of corners i and j of `s` (4, 8) for the point nearest to 0; return its squared distance."""
    x, y, z = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    square = x * x + y * y + z * z
    share = -(s[i, 0] * x + s[i, 1] * y + s[i, 2] * z)
    share = 0.0 if share <= 0.0 or square == 0.0 else 1.0 if share >= square else share / square
    _clear(s)
    s[i, SHARE], s[j, SHARE] = 1.0 - share, share
    x, y, z = s[i, 0] + share * x, s[i, 1] + share * y, s[i, 2] + share * z
    return x * x + y * y + z * z


@compiled
def nearest_on_triangle(s: Floats, i: int, j: int, k: int) -> float:
    """Set the shares of corners i, j and k of `s` (4, 8) for the point nearest to 0; return its squared distance."""
    # Barycentric coordinates by areas seen along the normal; where one is negative, the nearest point is on an edge.
    ax, ay, az = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    bx, by, bz = s[k, 0] - s[i, 0], s[k, 1] - s[i, 1], s[k, 2] - s[i, 2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    square = nx * nx + ny * ny + nz * nz
    u = _area(s, j, k, nx, ny, nz)
    v = _area(s, k, i, nx, ny, nz)
    w = _area(s, i, j, nx, ny, nz)
    if square > 0.0 and u > 0.0 and v > 0.0 and w > 0.0:
        total = u + v + w
        _clear(s)
        s[i, SHARE], s[j, SHARE], s[k, SHARE] = u / total, v / total, w / total
        height = s[i, 0] * nx + s[i, 1] * ny + s[i, 2] * nz
        return height * height / square
    # All edges where areas say so or say nothing, as for a triangle without area.
    best = nearest_on_segment(s, i, j)
    first, second, third = s[i, SHARE], s[j, SHARE], 0.0
    square = nearest_on_segment(s, j, k)
    if square < best:
        best, first, second, third = square, 0.0, s[j, SHARE], s[k, SHARE]
    square = nearest_on_segment(s, k, i)
    if square < best:
        best, first, second, third = square, s[i, SHARE], 0.0, s[k, SHARE]
    _clear(s)
    s[i, SHARE], s[j, SHARE], s[k, SHARE] = first, second, third
    return best


@compiled
def _area(s: Floats, i: int, j: int, nx: float, ny: float, nz: float) -> float:
    """Return twice the area of 0 and corners i and j along a normal, times the length of the normal."""
    return float(
        nx * (s[i, 1] * s[j, 2] - s[i, 2] * s[j, 1])
        + ny * (s[i, 2] * s[j, 0] - s[i, 0] * s[j, 2])
        + nz * (s[i, 0] * s[j, 1] - s[i, 1] * s[j, 0])
    )


@compiled
def _is_beyond(s: Floats, i: int, j: int, k: int, fourth: int) -> bool:
    """Return whether 0 is on the other side of the face i, j, k of a tetrahedron than its fourth corner."""
    ax, ay, az = s[j, 0] - s[i, 0], s[j, 1] - s[i, 1], s[j, 2] - s[i, 2]
    bx, by, bz = s[k, 0] - s[i, 0], s[k, 1] - s[i, 1], s[k, 2] - s[i, 2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    cx, cy, cz = s[fourth, 0] - s[i, 0], s[fourth, 1] - s[i, 1], s[fourth, 2] - s[i, 2]
    inside = nx * cx + ny * cy + nz * cz
    here = -(nx * s[i, 0] + ny * s[i, 1] + nz * s[i, 2])
    # Of all three sides, not of the normal and the third: four corners on one line have a normal made of rounding.
    sides = (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz) * (cx * cx + cy * cy + cz * cz)
    if inside * inside <= _FLAT * _FLAT * sides:
        return True
    return bool(here * inside < 0.0)


@compiled
def nearest_on_simplex(s: Floats, count: int) -> float:
    """Set the shares of the first `count` corners of `s` (4, 8) for the point nearest to 0.

    Returns its squared distance, -1 where 0 is inside a tetrahedron or on its surface.
    """
    if count == 1:
        _clear(s)
        s[0, SHARE] = 1.0
        return float(s[0, 0] * s[0, 0] + s[0, 1] * s[0, 1] + s[0, 2] * s[0, 2])
    if count == 2:
        return nearest_on_segment(s, 0, 1)
    if count == 3:
        return nearest_on_triangle(s, 0, 1, 2)
    best = -1.0
    a, b, c, d = 0.25, 0.25, 0.25, 0.25
    for fourth in range(4):
        i, j, k = (fourth + 1) % 4, (fourth + 2) % 4, (fourth + 3) % 4
        if _is_beyond(s, i, j, k, fourth):
            square = nearest_on_triangle(s, i, j, k)
            if best < 0.0 or square < best:
                best = square
                a, b, c, d = s[0, SHARE], s[1, SHARE], s[2, SHARE], s[3, SHARE]
    s[0, SHARE], s[1, SHARE], s[2, SHARE], s[3, SHARE] = a, b, c, d
    return best


# The arrays that the kernels of distances read and write.


BOX, BALL, CYLINDER, SEGMENT, HULL, PLANE, SURFACE = range(7)
"""Kinds of pieces. A sphere is a ball of radius 0, and a capsule a segment along z, each with an outer margin."""

KIND, START, COUNT, ROOT, NODES, LEAF, BODY = range(7)
"""Columns of `Pieces.codes`."""
INNER, OUTER = 3, 4
"""Columns of `Pieces.sizes` after the three sizes of a core."""

MOST_VERTICES = 160
"""A polytope that measures penetration has so many vertices at most, and at most twice as many faces."""


class Pieces(NamedTuple):
    """P pieces, each in a frame of its own: a core, widened by a ball, so all its edges are round.

    `codes` (P, 7) and `sizes` (P, 5) have the columns above. Sizes of cores are half extents of a box; radius, radius,
    half height of a cylinder; 0, 0, half length of a segment. The radius of the ball is INNER + OUTER, in m: by INNER
    a core is smaller than its shape, and by OUTER a piece is larger. The COUNT corners of a hull begin at
    `corners[START]`; those of a surface are its triangles, three corners each, in the order of its tree: a `FlatTree`
    of NODES boxes from `trees[ROOT]` on with LEAF triangles in a leaf. Piece 0 is a triangle, whichever kernels look
    at: they set where its corners are.

    `boxes` (P, 6) are centre and half extents of pieces. `places` (P, 12) are poses, rotation first, in the frame of
    the BODY of `kinematics.tree` that they are on, or of the base, which is body -1.
    """

    codes: Ints
    sizes: Floats
    corners: Floats
    boxes: Floats
    trees: Floats
    places: Floats


class Placed(NamedTuple):
    """The pieces of N entities in the world: those of entity n are from `begins[n]` to `begins[n + 1]`.

    `numbers` (K,) are indices of pieces, `poses` (K, 12) are rotations and then positions, `boxes` (K, 6) the lower and
    upper corners of world boxes, `around` (N, 6) those of boxes around all pieces of an entity.
    """

    begins: Ints
    numbers: Ints
    poses: Floats
    boxes: Floats
    around: Floats


class Scratch(NamedTuple):
    """Arrays that kernels compute in, so that they allocate nothing.

    `relative` (12,) is the pose of the second piece in the frame of the first, its rotation first. `simplex` (4, 8)
    are corners in the difference of two cores, the points of the first core that they come from, the share of each
    corner in the point nearest to the origin, and room for one more share. `vertices` (V, 6), the same without shares,
    `faces`, `planes` (F, 4), normals and offsets, and `rim` are a polytope. `found` (10,) is a distance, the nearest
    points of both pieces and the normal, in the frame of the first; `kept` is room for another one, `box` (6,) for a
    box, `poses` (2, 12) for poses, `stack` for nodes of a tree.
    """

    relative: Floats
    simplex: Floats
    vertices: Floats
    faces: Ints
    planes: Floats
    rim: Ints
    found: Floats
    kept: Floats
    box: Floats
    poses: Floats
    stack: Ints


def new_scratch() -> Scratch:
    """Return working memory for one pair of convex bodies at a time; a thread needs one of its own."""
    faces = 2 * MOST_VERTICES
    return Scratch(
        relative=np.zeros(12),
        simplex=np.zeros((4, 8)),
        vertices=np.zeros((MOST_VERTICES, 6)),
        faces=np.zeros((faces, 3), np.int64),
        planes=np.zeros((faces, 4)),
        rim=np.zeros((3 * faces, 2), np.int64),
        found=np.zeros(10),
        kept=np.zeros(10),
        box=np.zeros(6),
        poses=np.zeros((2, 12)),
        stack=np.zeros(128, np.int64),
    )


# The point of a core that is farthest in a direction: all that distances need to know of a shape.


Point = tuple[float, float, float]


@compiled
def farthest(
    kind: int, a: float, b: float, c: float, corners: Floats, begin: int, count: int, x: float, y: float, z: float
) -> Point:
    """Return the point of a core with the sizes a, b, c, or with corners, that is farthest along (x, y, z)."""
    if kind == BOX:
        return copysign(a, x), copysign(b, y), copysign(c, z)
    if kind == BALL:
        return 0.0, 0.0, 0.0
    if kind == SEGMENT:
        return 0.0, 0.0, copysign(c, z)
    if kind == CYLINDER:
        across = sqrt(x * x + y * y)
        scale = a / across if across > 0.0 else 0.0
        return scale * x, scale * y, copysign(c, z)
    best, most = begin, corners[begin, 0] * x + corners[begin, 1] * y + corners[begin, 2] * z
    for corner in range(begin + 1, begin + count):
        along = corners[corner, 0] * x + corners[corner, 1] * y + corners[corner, 2] * z
        if along > most:
            best, most = corner, along
    return corners[best, 0], corners[best, 1], corners[best, 2]


# The distance of two convex cores that do not overlap (Gilbert, Johnson and Keerthi's algorithm). The two overlap
# where the difference of their points holds the origin. Corners of that difference are added to a simplex, always the
# one farthest towards the origin, until none is nearer; the nearest point of the simplex is the distance.


OVERLAP = -1.0
"""What `separation` returns for cores that overlap or touch."""
FAR = -2.0
"""What it returns for cores that are farther apart than asked."""
_MOST_ROUNDS = 128
_SPARE = 7
# Shares of the squared distance, and of the squared size of the simplex, that count as nothing.
_CLOSE, _NOTHING = 1e-10, 1e-30


@compiled
def separation(
    codes: Ints,
    sizes: Floats,
    corners: Floats,
    one: int,
    two: int,
    limit: float,
    enough: float,
    relative: Floats,
    s: Floats,
) -> float:
    """Return the distance between the cores of two pieces; OVERLAP where they touch, or FAR above `limit`.

    Less than `enough` is not measured to the end. The second piece is at `relative` (12,), seen from the first. `s` (4,
    8) gets the simplex of the difference nearest to the origin, see `Scratch`; corners that do not count have no share.
    """
    kind, start, many = codes[one, KIND], codes[one, START], codes[one, COUNT]
    a, b, c = sizes[one, 0], sizes[one, 1], sizes[one, 2]
    other, begin, number = codes[two, KIND], codes[two, START], codes[two, COUNT]
    d, e, f = sizes[two, 0], sizes[two, 1], sizes[two, 2]
    r0, r1, r2, r3, r4, r5 = relative[0], relative[1], relative[2], relative[3], relative[4], relative[5]
    r6, r7, r8, t0, t1, t2 = relative[6], relative[7], relative[8], relative[9], relative[10], relative[11]
    # Any direction will do at first; that between the two is near already.
    x, y, z = -t0, -t1, -t2
    if x * x + y * y + z * z == 0.0:
        x = 1.0
    count, square, size = 0, 0.0, 0.0
    for _ in range(_MOST_ROUNDS):
        ax, ay, az = farthest(kind, a, b, c, corners, start, many, -x, -y, -z)
        # The direction in the frame of the second piece: its own corners are there.
        u, v, w = r0 * x + r3 * y + r6 * z, r1 * x + r4 * y + r7 * z, r2 * x + r5 * y + r8 * z
        u, v, w = farthest(other, d, e, f, corners, begin, number, u, v, w)
        wx = ax - (r0 * u + r1 * v + r2 * w + t0)
        wy = ay - (r3 * u + r4 * v + r5 * w + t1)
        wz = az - (r6 * u + r7 * v + r8 * w + t2)
        length, along = x * x + y * y + z * z, x * wx + y * wy + z * wz
        # A plane across the direction, so far from the origin, has all of the difference on its other side.
        if along > 0.0 and along * along > limit * limit * length:
            return FAR
        # Nothing nearer is left, or the same corner comes again.
        if count > 0 and (length - along <= _CLOSE * (length + sqrt(length * size)) or _has(s, count, wx, wy, wz)):
            break
        _add(s, count, (wx, wy, wz), (ax, ay, az))
        size = max(size, wx * wx + wy * wy + wz * wz)
        now = nearest_on_simplex(s, count + 1)
        if count > 0 and now >= square:
            # Where rounding lets the distance grow, the simplex before stays.
            for corner in range(4):
                s[corner, SHARE] = s[corner, _SPARE]
            break
        count, square = _packed(s, count + 1), now
        # The origin is within the simplex: they overlap.
        if square <= _NOTHING * size:
            return OVERLAP
        # Nearer than anybody wants to know exactly.
        if square <= enough * enough:
            break
        x, y, z = _nearest(s, count)
    return sqrt(square)


@compiled
def _add(s: Floats, count: int, corner: Point, point: Point) -> None:
    """Add a corner of the difference, which comes from a point of the first core; keep the shares of the others."""
    for axis in range(3):
        s[count, axis], s[count, 3 + axis] = corner[axis], point[axis]
    for place in range(4):
        s[place, _SPARE] = s[place, SHARE]


@compiled
def _nearest(s: Floats, count: int) -> Point:
    x, y, z = 0.0, 0.0, 0.0
    for corner in range(count):
        share = s[corner, SHARE]
        x += share * s[corner, 0]
        y += share * s[corner, 1]
        z += share * s[corner, 2]
    return x, y, z


@compiled
def _has(s: Floats, count: int, x: float, y: float, z: float) -> bool:
    found = False
    for corner in range(count):
        found = found or (s[corner, 0] == x and s[corner, 1] == y and s[corner, 2] == z)
    return found


@compiled
def _packed(s: Floats, count: int) -> int:
    """Drop the corners without a share; return how many are left."""
    kept = 0
    for corner in range(count):
        if s[corner, SHARE] > 0.0:
            if kept < corner:
                for column in range(_SPARE):
                    s[kept, column] = s[corner, column]
            kept += 1
    for corner in range(kept, 4):
        s[corner, SHARE] = 0.0
    return kept


# A polytope around the origin that grows by vertices: the arrays of `Scratch` and what is done with them.


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


# How deep two convex cores are in each other: a polytope grows in their difference towards its nearest face. (The
# expanding polytope algorithm of van den Bergen.) The depth found is that of a translation which separates the cores,
# so it is never too small; it is the least one up to `_EXACT` unless the polytope has no room left to grow.


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
    """Add a vertex to less than four; return False where the difference has none beyond their line or plane.

    Those have the origin between them: where the difference is on one side only, the cores touch, and the depth is 0.
    """
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
        if x * x + y * y + z * z > 0.0:
            _reach(pieces, one, two, x, y, z, count, scratch)
            if is_apart(v, count, size):
                return True
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


# Of the size of boxes: they may be so much nearer than rounding says.
_SLACK = 1e-12


@compiled
def place_second(p: Floats, q: Floats, relative: Floats) -> None:
    """Set `relative` to the pose q (12,), seen from the pose p."""
    # The inverse of a pose is its transpose: columns of `p` by columns of `q`.
    x, y, z = q[9] - p[9], q[10] - p[10], q[11] - p[11]
    for line in range(3):
        a, b, c = p[line], p[3 + line], p[6 + line]
        for column in range(3):
            relative[3 * line + column] = a * q[column] + b * q[3 + column] + c * q[6 + column]
        relative[9 + line] = a * x + b * y + c * z


@compiled
def boxes_apart(boxes: Floats, one: int, two: int, limit: float, r: Floats) -> bool:
    """Return whether the boxes of two pieces, the second at `r` (12,), are farther apart than `limit` along a side."""
    ax, ay, az, hx, hy, hz = boxes[one, 0], boxes[one, 1], boxes[one, 2], boxes[one, 3], boxes[one, 4], boxes[one, 5]
    bx, by, bz, gx, gy, gz = boxes[two, 0], boxes[two, 1], boxes[two, 2], boxes[two, 3], boxes[two, 4], boxes[two, 5]
    x = r[0] * bx + r[1] * by + r[2] * bz + r[9] - ax
    y = r[3] * bx + r[4] * by + r[5] * bz + r[10] - ay
    z = r[6] * bx + r[7] * by + r[8] * bz + r[11] - az
    reach = max(limit, 0.0) + _SLACK * (abs(x) + abs(y) + abs(z) + hx + hy + hz + gx + gy + gz)
    # The three axes of the first box, then those of the second.
    if abs(x) - hx - (abs(r[0]) * gx + abs(r[1]) * gy + abs(r[2]) * gz) > reach:
        return True
    if abs(y) - hy - (abs(r[3]) * gx + abs(r[4]) * gy + abs(r[5]) * gz) > reach:
        return True
    if abs(z) - hz - (abs(r[6]) * gx + abs(r[7]) * gy + abs(r[8]) * gz) > reach:
        return True
    if abs(r[0] * x + r[3] * y + r[6] * z) - gx - (abs(r[0]) * hx + abs(r[3]) * hy + abs(r[6]) * hz) > reach:
        return True
    if abs(r[1] * x + r[4] * y + r[7] * z) - gy - (abs(r[1]) * hx + abs(r[4]) * hy + abs(r[7]) * hz) > reach:
        return True
    return bool(abs(r[2] * x + r[5] * y + r[8] * z) - gz - (abs(r[2]) * hx + abs(r[5]) * hy + abs(r[8]) * hz) > reach)


@compiled
def piece_distance(pieces: Pieces, one: int, two: int, limit: float, touch: bool, scratch: Scratch) -> float:
    """Return the signed distance of two convex pieces or planes, the second at `scratch.relative`; inf above `limit`.

    Writes the nearest points of both and the normal, from the second to the first, to `scratch.found[1:]`, in the frame
    of the first. With `touch`, and a limit of at least 0, what is returned is any number of at most `limit` where the
    distance is that, which is faster, and nothing is written.
    """
    codes, sizes = pieces.codes, pieces.sizes
    if codes[one, KIND] == PLANE or codes[two, KIND] == PLANE:
        return _plane_distance(codes, sizes, pieces.corners, one, two, limit, scratch.relative, scratch.found)
    if boxes_apart(pieces.boxes, one, two, limit, scratch.relative):
        return np.inf
    # Cores are measured, and the margins around them taken off.
    margin, other = sizes[one, INNER] + sizes[one, OUTER], sizes[two, INNER] + sizes[two, OUTER]
    reach = limit + (margin + other)
    enough = reach if touch else 0.0
    s = scratch.simplex
    distance = separation(codes, sizes, pieces.corners, one, two, max(reach, 0.0), enough, scratch.relative, s)
    if distance == FAR or distance > reach:
        return np.inf
    if touch:
        return limit
    if distance == OVERLAP:
        distance = -penetration(pieces, one, two, scratch)
        if distance > reach:
            return np.inf
        _note_overlap(scratch.found, margin, other)
    else:
        _note_apart(s, scratch.found, distance, margin, other)
    # Not above the limit by rounding: it has to be decided alike with `touch`.
    return min(distance - (margin + other), limit)


@compiled
def _note_apart(s: Floats, found: Floats, distance: float, margin: float, other: float) -> None:
    """Write nearest points and normal of two pieces with margins whose cores are `distance` apart."""
    for axis in range(3):
        point, away = 0.0, 0.0
        for corner in range(4):
            if s[corner, SHARE] > 0.0:
                # Shares of corners give the point; what is left is the way to the other one.
                point += s[corner, SHARE] * s[corner, 3 + axis]
                away += s[corner, SHARE] * s[corner, axis]
        normal = away / distance
        found[1 + axis] = point - margin * normal
        found[4 + axis] = point - away + other * normal
        found[7 + axis] = normal


@compiled
def _note_overlap(found: Floats, margin: float, other: float) -> None:
    """Add the margins to what `penetration` found, and let the normal point from the second to the first."""
    for axis in range(3):
        normal = -found[7 + axis]
        found[1 + axis] -= margin * normal
        found[4 + axis] += other * normal
        found[7 + axis] = normal


@compiled
def _plane_distance(
    codes: Ints, sizes: Floats, corners: Floats, one: int, two: int, limit: float, r: Floats, found: Floats
) -> float:
    """Return how far a convex piece is above a plane, whose frame has the solid side at negative z."""
    below = codes[one, KIND] == PLANE
    piece = two if below else one
    if codes[piece, KIND] == PLANE:
        return np.inf
    # Against a plane PyBullet takes boxes with sharp edges, but cylinders with round ones.
    sharp = sizes[piece, INNER] if codes[piece, KIND] == BOX else 0.0
    margin = sizes[piece, INNER] - sharp + sizes[piece, OUTER]
    # The plane's normal in the frame of the piece.
    nx, ny, nz = (r[6], r[7], r[8]) if below else (r[2], r[5], r[8])
    a, b, c = sizes[piece, 0] + sharp, sizes[piece, 1] + sharp, sizes[piece, 2] + sharp
    x, y, z = farthest(codes[piece, KIND], a, b, c, corners, codes[piece, START], codes[piece, COUNT], -nx, -ny, -nz)
    if below:
        x, y, z = (
            r[0] * x + r[1] * y + r[2] * z + r[9],
            r[3] * x + r[4] * y + r[5] * z + r[10],
            r[6] * x + r[7] * y + r[8] * z + r[11],
        )
        found[1], found[2], found[3], found[4], found[5], found[6] = x, y, 0.0, x, y, z - margin
        found[7], found[8], found[9] = 0.0, 0.0, -1.0
        return z - margin if z - margin <= limit else np.inf
    height = nx * (x - r[9]) + ny * (y - r[10]) + nz * (z - r[11])
    found[1], found[2], found[3] = x - margin * nx, y - margin * ny, z - margin * nz
    found[4], found[5], found[6] = x - height * nx, y - height * ny, z - height * nz
    found[7], found[8], found[9] = nx, ny, nz
    return height - margin if height - margin <= limit else np.inf
