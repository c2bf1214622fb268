"""A tree of boxes around triangles: finds what rays meet, and the nearest points, for many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.spatial.box_tree import BoxTree

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

    def cast(self, origins: Floats, directions: Floats, reach: Floats) -> tuple[Floats, Ints]:
        """Return how far rays from `origins` (R, 3) go along `directions` (R, 3) until they meet a triangle, and which.

        In lengths of the directions (R,); infinite and -1 for those that meet none within `reach` (R,). A triangle is
        met from both sides, but not by a ray that begins on it. Of several at one distance it is the first.
        """
        ranges, triangles = np.full(len(origins), np.inf), np.full(len(origins), -1, np.int64)
        for first in range(0, len(origins), _BATCH):
            part = slice(first, first + _BATCH)
            ranges[part], triangles[part] = self._cast(origins[part], directions[part], reach[part])
        return ranges, triangles

    def _cast(self, origins: Floats, directions: Floats, reach: Floats) -> tuple[Floats, Ints]:
        """Return ranges (N,) up to `reach` (N,) and the triangles (N,) that rays meet first; inf and -1 for none."""
        with np.errstate(divide="ignore"):
            inverse = 1.0 / directions
        rays, leaves = self._tree.pierced(origins, inverse, reach)
        places = self._tree.places(leaves)
        rays = np.repeat(rays, self._tree.leaf)
        ranges = self._meet(origins[rays], directions[rays], places)
        met = np.flatnonzero(ranges <= reach[rays])
        rays, ranges, triangles = rays[met], ranges[met], self._order[places[met]]
        nearest, numbers = np.full(len(origins), np.inf), np.full(len(origins), -1, np.int64)
        # Sorted by ray, then range, then number: the first of each ray is the one it meets.
        order = np.lexsort((triangles, ranges, rays))
        firsts = order[np.flatnonzero(np.diff(rays[order], prepend=-1))]
        nearest[rays[firsts]], numbers[rays[firsts]] = ranges[firsts], triangles[firsts]
        return nearest, numbers

    def _meet(self, origins: Floats, directions: Floats, places: Ints) -> Floats:
        """Return the range of ray k to the triangle at `places[k]` (K,), infinite where it misses."""
        # Moeller and Trumbore, "Fast, minimum storage ray/triangle intersection".
        first, second = self._sides[0][places], self._sides[1][places]
        across = _cross(directions, second)
        area = _dot(first, across)
        parallel_mask = np.abs(area) < PARALLEL
        # Any number, as these are left out below.
        area = np.where(parallel_mask, 1.0, area)
        away = origins - self._apex[places]
        u = _dot(away, across) / area
        turned = _cross(away, first)
        v = _dot(directions, turned) / area
        ranges = _dot(second, turned) / area
        missed_mask = (u < -SLACK) | (v < -SLACK) | (u + v > 1.0 + SLACK) | (ranges <= 0.0) | parallel_mask
        return np.where(missed_mask, np.inf, ranges)

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
