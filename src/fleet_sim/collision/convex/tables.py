"""The arrays that the kernels of distances read and write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints

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
