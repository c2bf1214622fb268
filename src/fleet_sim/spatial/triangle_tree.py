"""A tree of boxes around triangles: finds what rays meet, and the nearest points, for many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints

LEAF = 4
"""About as many triangles are in a box at the lowest level."""
_BATCH = 4096
"""Rays or points that go through the tree together, few enough to keep the lists of boxes short."""
_SLACK = 1e-9
"""Share of a triangle by which it is widened, so that no ray slips between two that share an edge."""
_PARALLEL = 1e-300


class FlatTree(NamedTuple):
    """A complete tree: the boxes below box k, lower corners first, are `boxes[2 * k + 1]` and `boxes[2 * k + 2]`.

    The last half of `boxes` (B, 6), rounded up, are leaves; each has the next `leaf` of the triangles `corners`
    (K, 3, 3).
    """

    boxes: Floats
    corners: Floats
    leaf: int


class TriangleTree:
    """A complete binary tree over triangles `corners` (T, 3, 3), at least one, which must not change."""

    def __init__(self, corners: Floats) -> None:
        count = len(corners)
        self._depth = max(0, int(np.ceil(np.log2(max(1.0, count / LEAF)))))
        leaves = 1 << self._depth
        self._leaf = -(-count // leaves)
        # Padded with copies of the last triangle, so that all boxes hold equally many.
        order = np.minimum(np.arange(leaves * self._leaf), count - 1)
        centres = corners.mean(axis=1)
        for level in range(self._depth):
            order = _halved(order, centres, 1 << level)
        self._order = order
        sorted_corners = corners[order]
        # Origin and two sides of each triangle, as the test of rays needs them.
        self._apex = sorted_corners[:, 0]
        self._sides = sorted_corners[:, 1] - self._apex, sorted_corners[:, 2] - self._apex
        self._lower, self._upper = _boxes(sorted_corners, self._depth, self._leaf)

    def flat(self) -> FlatTree:
        """Return the whole tree as two arrays."""
        boxes = np.concatenate((np.concatenate(self._lower), np.concatenate(self._upper)), axis=1)
        corners = np.stack((self._apex, self._apex + self._sides[0], self._apex + self._sides[1]), axis=1)
        return FlatTree(boxes, corners, self._leaf)

    def cast(self, origins: Floats, directions: Floats, reach: Floats) -> tuple[Floats, Ints]:
        """Return how far rays from `origins` (R, 3) go along `directions` (R, 3) until they meet a triangle, and which.

        In lengths of the directions (R,); infinite and -1 for those that meet none within `reach` (R,). A triangle is
        met from both sides. Of several at one distance it is the first.
        """
        ranges, triangles = np.full(len(origins), np.inf), np.full(len(origins), -1, np.int64)
        for first in range(0, len(origins), _BATCH):
            part = slice(first, first + _BATCH)
            ranges[part], triangles[part] = self._cast(origins[part], directions[part], reach[part])
        return ranges, triangles

    def _cast(self, origins: Floats, directions: Floats, reach: Floats) -> tuple[Floats, Ints]:
        # Along an axis that a ray does not move in, infinities sort the box out or leave it in.
        with np.errstate(divide="ignore"):
            inverse = 1.0 / directions
        rays, boxes = np.arange(len(origins)), np.zeros(len(origins), np.int64)
        for level in range(self._depth + 1):
            if level:
                rays, boxes = np.repeat(rays, 2), (2 * boxes[:, None] + np.arange(2)).reshape(-1)
            pierced_mask = _pierced(self._lower[level][boxes], self._upper[level][boxes], origins[rays], inverse[rays],
                                    reach[rays])  # fmt: skip
            rays, boxes = rays[pierced_mask], boxes[pierced_mask]
        places = (boxes[:, None] * self._leaf + np.arange(self._leaf)).reshape(-1)
        rays = np.repeat(rays, self._leaf)
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
        parallel_mask = np.abs(area) < _PARALLEL
        area = np.where(parallel_mask, 1.0, area)
        away = origins - self._apex[places]
        u = _dot(away, across) / area
        turned = _cross(away, first)
        v = _dot(directions, turned) / area
        ranges = _dot(second, turned) / area
        missed_mask = (u < -_SLACK) | (v < -_SLACK) | (u + v > 1.0 + _SLACK) | (ranges < 0.0) | parallel_mask
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
        count = len(points)
        asked, boxes, limits = np.arange(count), np.zeros(count, np.int64), reach * reach
        for level in range(self._depth + 1):
            if level:
                asked, boxes = np.repeat(asked, 2), (2 * boxes[:, None] + np.arange(2)).reshape(-1)
            lower, upper, at = self._lower[level][boxes], self._upper[level][boxes], points[asked]
            gaps = np.maximum(np.maximum(lower - at, at - upper), 0.0)
            # No point of a box is farther away than its farthest corner, and it holds at least one triangle.
            farthest = np.maximum(np.abs(at - lower), np.abs(at - upper))
            np.minimum.at(limits, asked, _dot(farthest, farthest) * (1.0 + 1e-12))
            kept_mask = _dot(gaps, gaps) <= limits[asked]
            asked, boxes = asked[kept_mask], boxes[kept_mask]
        places = (boxes[:, None] * self._leaf + np.arange(self._leaf)).reshape(-1)
        asked = np.repeat(asked, self._leaf)
        apex = self._apex[places]
        found = nearest_on(apex, apex + self._sides[0][places], apex + self._sides[1][places], points[asked])
        away = found - points[asked]
        squares, triangles = _dot(away, away), self._order[places]
        order = np.lexsort((triangles, squares, asked))
        firsts = order[np.flatnonzero(np.diff(asked[order], prepend=-1))]
        firsts = firsts[squares[firsts] <= reach[asked[firsts]] ** 2]
        distances, nearest = np.full(count, np.inf), np.full((count, 3), np.nan)
        numbers = np.full(count, -1, np.int64)
        owners = asked[firsts]
        distances[owners], nearest[owners], numbers[owners] = np.sqrt(squares[firsts]), found[firsts], triangles[firsts]
        return distances, nearest, numbers


def _halved(order: Ints, centres: Floats, nodes: int) -> Ints:
    """Return `order` with the triangles of each of `nodes` equal runs sorted along the run's longest side."""
    grouped = centres[order].reshape(nodes, -1, 3)
    longest = (grouped.max(axis=1) - grouped.min(axis=1)).argmax(axis=1)
    along = np.take_along_axis(grouped, longest[:, None, None], axis=2)[..., 0]
    ranks = along.argsort(axis=1, kind="stable")
    return np.asarray(np.take_along_axis(order.reshape(nodes, -1), ranks, axis=1).reshape(-1))


def _boxes(corners: Floats, depth: int, leaf: int) -> tuple[list[Floats], list[Floats]]:
    """Return the corners of the boxes of all levels, from the top."""
    grouped = corners.reshape(1 << depth, leaf * 3, 3)
    lower, upper = [grouped.min(axis=1)], [grouped.max(axis=1)]
    for _ in range(depth):
        lower.append(lower[-1].reshape(-1, 2, 3).min(axis=1))
        upper.append(upper[-1].reshape(-1, 2, 3).max(axis=1))
    return lower[::-1], upper[::-1]


def _pierced(lower: Floats, upper: Floats, origins: Floats, inverse: Floats, reach: Floats) -> Bools:
    """Return which boxes (K,) rays go through within `reach` (K,)."""
    with np.errstate(invalid="ignore"):
        one, other = (lower - origins) * inverse, (upper - origins) * inverse
    # A ray in the plane of a side has 0 * inf there, which is NaN: along that axis it is in the box all the way.
    along_mask = np.isnan(one) | np.isnan(other)
    enter = np.where(along_mask, -np.inf, np.minimum(one, other)).max(axis=1)
    leave = np.where(along_mask, np.inf, np.maximum(one, other)).min(axis=1)
    # Boxes of flat walls have no thickness, so rounding must not make a ray leave before it enters.
    slack = 1e-12 * (1.0 + np.where(np.isfinite(enter), np.abs(enter), 0.0))
    return np.asarray((enter <= leave + slack) & (leave >= -slack) & (enter <= reach + slack))


def nearest_on(a: Floats, b: Floats, c: Floats, points: Floats) -> Floats:
    """Return the point (K, 3) of the triangle with corners a[k], b[k], c[k] that is nearest to points[k]."""
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
    flat_mask = squares < _PARALLEL
    squares = np.where(flat_mask, 1.0, squares)
    away = points - a
    u = _dot(_cross(away, second), normals) / squares
    v = _dot(_cross(first, away), normals) / squares
    outside_mask = (u < 0.0) | (v < 0.0) | (u + v > 1.0) | flat_mask
    return np.where(outside_mask[:, None], np.nan, a + u[:, None] * first + v[:, None] * second)


def _on_segment(start: Floats, end: Floats, points: Floats) -> Floats:
    side = end - start
    share = _dot(points - start, side) / np.maximum(_dot(side, side), _PARALLEL)
    return np.asarray(start + np.clip(share, 0.0, 1.0)[:, None] * side)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2])


def _cross(a: Floats, b: Floats) -> Floats:
    out = np.empty_like(a)
    out[:, 0] = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    out[:, 1] = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    out[:, 2] = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return out
