"""Triangles as a surface: where a horizontal plane cuts them, what rays meet of them, and their nearest points.

A surface has two sides, both of which can be met, and no inside.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints

# A tree of boxes: finds those that rays go through, for many rays at once.


NEAR_ZERO = 1e-12
"""Of the distance to a box: so much may rounding make a ray leave a flat box before it enters it."""


class BoxTree:
    """A complete binary tree over boxes from `lower` to `upper` (N, 3), at least one.

    `depth` is the number of levels below the top. At the lowest level are 2 ** depth leaves, each with the next `leaf`
    numbers of boxes in `order`; some of them may be there twice, so that all leaves have equally many.
    """

    def __init__(self, lower: Floats, upper: Floats, *, leaf: int, centres: Floats | None = None) -> None:
        """Sort the boxes by their `centres` (N, 3), about `leaf` to a leaf."""
        count = len(lower)
        self.depth = max(0, int(np.ceil(np.log2(max(1.0, count / leaf)))))
        leaves = 1 << self.depth
        self.leaf = -(-count // leaves)
        middles = 0.5 * (lower + upper) if centres is None else centres
        order = np.minimum(np.arange(leaves * self.leaf), count - 1)
        for level in range(self.depth):
            order = _halved(order, middles, 1 << level)
        self.order: Ints = order
        self.lower, self.upper = _levels(lower[order], np.minimum, self), _levels(upper[order], np.maximum, self)

    @cached_property
    def flat(self) -> Floats:
        """All boxes (B, 6), lower corners first: below box k are boxes 2 * k + 1 and 2 * k + 2."""
        return np.concatenate((np.concatenate(self.lower), np.concatenate(self.upper)), axis=1)

    def places(self, leaves: Ints) -> Ints:
        """Return the places (K * leaf,) in `order` of what is in `leaves` (K,)."""
        return (leaves[:, None] * self.leaf + np.arange(self.leaf)).reshape(-1)


def _halved(order: Ints, centres: Floats, nodes: int) -> Ints:
    """Return `order` with the boxes of each of `nodes` equal runs sorted along the run's longest side."""
    grouped = centres[order].reshape(nodes, -1, 3)
    longest = (grouped.max(axis=1) - grouped.min(axis=1)).argmax(axis=1)
    along = np.take_along_axis(grouped, longest[:, None, None], axis=2)[..., 0]
    ranks = along.argsort(axis=1, kind="stable")
    return np.asarray(np.take_along_axis(order.reshape(nodes, -1), ranks, axis=1).reshape(-1))


def _levels(corners: Floats, join: np.ufunc, tree: BoxTree) -> list[Floats]:
    """Return corners of the boxes of all levels, from the top."""
    levels = [join.reduce(corners.reshape(1 << tree.depth, tree.leaf, 3), axis=1)]
    for _ in range(tree.depth):
        levels.append(join.reduce(levels[-1].reshape(-1, 2, 3), axis=1))
    return levels[::-1]


# A tree of boxes around triangles: finds what rays meet, and the nearest points, for many at once.


LEAF = 4
"""About as many triangles are in a box at the lowest level."""
_BATCH = 4096
"""Rays or points that go through the tree together, few enough to keep the lists of boxes short."""
SLACK = 1e-9
"""Share of a triangle by which it is widened, so that no ray slips between two that share an edge."""
PARALLEL = 1e-300


class FlatTree(NamedTuple):
    """A complete tree: the boxes below box k, lower corners first, are `boxes[2 * k + 1]` and `boxes[2 * k + 2]`.

    The last half of `boxes` (B, 6), rounded up, are leaves; each has the next `leaf` of the triangles `corners`
    (K, 3, 3).
    """

    boxes: Floats
    corners: Floats
    leaf: int


class RayTree(NamedTuple):
    """The same tree for casting rays: an apex and two sides of each triangle, `triangles` (K, 9), and their numbers
    `order` (K,).
    """

    boxes: Floats
    triangles: Floats
    order: Ints
    leaf: int


class TriangleTree:
    """A complete binary tree over triangles `corners` (T, 3, 3), at least one, which must not change."""

    def __init__(self, corners: Floats) -> None:
        self._tree = BoxTree(corners.min(axis=1), corners.max(axis=1), leaf=LEAF, centres=corners.mean(axis=1))
        self._order = self._tree.order
        sorted_corners = corners[self._order]
        # Origin and two sides of each triangle, as the test of rays needs them.
        self._apex = sorted_corners[:, 0]
        self._sides = sorted_corners[:, 1] - self._apex, sorted_corners[:, 2] - self._apex

    def flat(self) -> FlatTree:
        """Return the whole tree as two arrays."""
        corners = np.stack((self._apex, self._apex + self._sides[0], self._apex + self._sides[1]), axis=1)
        return FlatTree(self._tree.flat, corners, self._tree.leaf)

    def for_rays(self) -> RayTree:
        """Return the whole tree as kernels that cast rays need it."""
        return RayTree(
            self._tree.flat, np.concatenate((self._apex, *self._sides), axis=1), self._order, self._tree.leaf
        )

    def nearest(self, points: Floats, reach: Floats) -> tuple[Floats, Floats, Ints]:
        """Return the distances (N,) from `points` (N, 3) to the surface, its nearest points (N, 3), and triangles (N,).

        Infinite, NaN and -1 for points farther away than `reach` (N,).
        """
        distances, nearest = np.full(len(points), np.inf), np.full((len(points), 3), np.nan)
        triangles = np.full(len(points), -1, np.int64)
        for first in range(0, len(points), _BATCH):
            part = slice(first, first + _BATCH)
            distances[part], nearest[part], triangles[part] = self._nearest(points[part], reach[part])
        return distances, nearest, triangles

    def _nearest(self, points: Floats, reach: Floats) -> tuple[Floats, Floats, Ints]:
        """Return distances (N,), nearest points (N, 3) and their triangles (N,); inf and -1 beyond `reach` (N,)."""
        count = len(points)
        asked, boxes, limits = np.arange(count), np.zeros(count, np.int64), reach * reach
        for level in range(self._tree.depth + 1):
            # Each box has two below it.
            if level:
                asked, boxes = np.repeat(asked, 2), (2 * boxes[:, None] + np.arange(2)).reshape(-1)
            lower, upper, at = self._tree.lower[level][boxes], self._tree.upper[level][boxes], points[asked]
            gaps = np.maximum(np.maximum(lower - at, at - upper), 0.0)
            # No point of a box is farther away than its farthest corner, and it holds at least one triangle.
            farthest = np.maximum(np.abs(at - lower), np.abs(at - upper))
            np.minimum.at(limits, asked, _dot(farthest, farthest) * (1.0 + 1e-12))
            kept_mask = _dot(gaps, gaps) <= limits[asked]
            asked, boxes = asked[kept_mask], boxes[kept_mask]
        places = self._tree.places(boxes)
        asked = np.repeat(asked, self._tree.leaf)
        apex = self._apex[places]
        found = nearest_on(apex, apex + self._sides[0][places], apex + self._sides[1][places], points[asked])
        away = found - points[asked]
        squares, triangles = _dot(away, away), self._order[places]
        order = np.lexsort((triangles, squares, asked))
        firsts = order[np.flatnonzero(np.diff(asked[order], prepend=-1))]
        # Limits of boxes are rounded up, so the reach is looked at again.
        firsts = firsts[squares[firsts] <= reach[asked[firsts]] ** 2]
        distances, nearest = np.full(count, np.inf), np.full((count, 3), np.nan)
        numbers = np.full(count, -1, np.int64)
        owners = asked[firsts]
        distances[owners], nearest[owners], numbers[owners] = np.sqrt(squares[firsts]), found[firsts], triangles[firsts]
        return distances, nearest, numbers


def nearest_on(a: Floats, b: Floats, c: Floats, points: Floats) -> Floats:
    """Return the point (K, 3) of the triangle with corners a[k], b[k], c[k] that is nearest to points[k]."""
    # The nearest point is inside the triangle, or on one of its sides.
    inner = _projected(a, b - a, c - a, points)
    candidates = [inner, *(_on_segment(start, end, points) for start, end in ((a, b), (b, c), (c, a)))]
    best, least = candidates[0], np.full(len(points), np.inf)
    for candidate in candidates:
        away = candidate - points
        squares = _dot(away, away)
        # Comparisons with NaN, for a projection outside of the triangle, are False.
        better_mask = squares < least
        best, least = np.where(better_mask[:, None], candidate, best), np.where(better_mask, squares, least)
    return best


def _projected(a: Floats, first: Floats, second: Floats, points: Floats) -> Floats:
    """Return the points projected on the triangles' planes, NaN outside of the triangles."""
    normals = _cross(first, second)
    squares = _dot(normals, normals)
    flat_mask = squares < PARALLEL
    squares = np.where(flat_mask, 1.0, squares)
    away = points - a
    u = _dot(_cross(away, second), normals) / squares
    v = _dot(_cross(first, away), normals) / squares
    outside_mask = (u < 0.0) | (v < 0.0) | (u + v > 1.0) | flat_mask
    return np.where(outside_mask[:, None], np.nan, a + u[:, None] * first + v[:, None] * second)


def _on_segment(start: Floats, end: Floats, points: Floats) -> Floats:
    side = end - start
    # A side without length is its start.
    share = _dot(points - start, side) / np.maximum(_dot(side, side), PARALLEL)
    return np.asarray(start + np.clip(share, 0.0, 1.0)[:, None] * side)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2])


def _cross(a: Floats, b: Floats) -> Floats:
    out = np.empty_like(a)
    out[:, 0] = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    out[:, 1] = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    out[:, 2] = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return out


_CUTS = 64
"""Number of heights whose cuts a surface keeps: lidars of one kind are at the same height in every step."""

Cut = tuple[Floats, Floats]
"""The two ends, (2, S) each, of line segments in a horizontal plane."""


class Surface:
    """Triangles `corners` (T, 3, 3) at fixed places: triangle, corner, xyz. Read-only, and costly to make."""

    def __init__(self, corners: Floats) -> None:
        self.corners = corners
        self.corners.flags.writeable = False
        heights = corners[:, :, 2]
        self._lowest, self._highest = heights.min(axis=1), heights.max(axis=1)
        # A cache of its own, so that it goes when the surface goes.
        self.cut = lru_cache(maxsize=_CUTS)(self._cut)

    @cached_property
    def tree(self) -> TriangleTree:
        """The triangles, sorted for rays and nearest points."""
        return TriangleTree(self.corners)

    @cached_property
    def normals(self) -> Floats:
        """Unit normals (T, 3) by the order of corners; zero for triangles without an area."""
        sides = self.corners[:, 1:] - self.corners[:, :1]
        normals = np.cross(sides[:, 0], sides[:, 1])
        normals /= np.maximum(np.sqrt((normals * normals).sum(axis=1)), 1e-300)[:, None]
        return normals

    def _cut(self, height: float) -> Cut:
        """Return where the plane at `height` cuts the surface: read-only arrays, shared by all callers."""
        # A corner exactly at the height counts as above. So a triangle has either no crossed side or two, without a
        # third case; one that lies in the plane is not seen, as its edge is turned to whoever is in it.
        crossed = np.flatnonzero((self._lowest < height) & (height <= self._highest))
        corners = self.corners[crossed]
        below_mask = corners[:, :, 2] < height
        # Two corners are on one side and one is on the other: the cut joins the two sides at the lonely corner.
        alone = np.where(below_mask.sum(axis=1) == 1, below_mask.argmax(axis=1), (~below_mask).argmax(axis=1))
        triangles = np.arange(len(crossed))
        apex = corners[triangles, alone]
        ends = []
        for other in (1, 2):
            far = corners[triangles, (alone + other) % 3]
            share = (height - apex[:, 2]) / (far[:, 2] - apex[:, 2])
            ends.append(np.ascontiguousarray((apex[:, :2] + share[:, None] * (far[:, :2] - apex[:, :2])).T))
            ends[-1].flags.writeable = False
        return ends[0], ends[1]


def grid_triangles(columns: int, lines: int) -> Ints:
    """Return the triangles (T, 3) of a grid of points, numbered line by line; seen from above counter-clockwise."""
    first = (np.arange(lines - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    right, above, across = first + 1, first + columns, first + columns + 1
    return np.concatenate((np.stack((first, right, above), axis=1), np.stack((right, across, above), axis=1)))
