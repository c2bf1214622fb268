"""A tree of boxes: finds those that rays go through, for many rays at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints

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

    def pierced(self, origins: Floats, inverse: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Return pairs of a ray and a leaf (K,) that it goes through within `reach` (R,).

        Rays begin at `origins` (R, 3); `inverse` (R, 3) are the inverse components of their directions.
        """
        rays, boxes = np.arange(len(origins)), np.zeros(len(origins), np.int64)
        for level in range(self.depth + 1):
            if level:
                rays, boxes = np.repeat(rays, 2), (2 * boxes[:, None] + np.arange(2)).reshape(-1)
            pierced_mask = _pierced(self.lower[level][boxes], self.upper[level][boxes], origins[rays], inverse[rays],
                                    reach[rays])  # fmt: skip
            rays, boxes = rays[pierced_mask], boxes[pierced_mask]
        return rays, boxes

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


def _pierced(lower: Floats, upper: Floats, origins: Floats, inverse: Floats, reach: Floats) -> Bools:
    """Return which boxes (K,) rays go through within `reach` (K,)."""
    # Along an axis that a ray does not move in, infinities sort the box out or leave it in.
    with np.errstate(invalid="ignore"):
        one, other = (lower - origins) * inverse, (upper - origins) * inverse
    # A ray in the plane of a side has 0 * inf there, which is NaN: along that axis it is in the box all the way.
    along_mask = np.isnan(one) | np.isnan(other)
    enter = np.where(along_mask, -np.inf, np.minimum(one, other)).max(axis=1)
    leave = np.where(along_mask, np.inf, np.maximum(one, other)).min(axis=1)
    # Boxes of flat walls have no thickness, so rounding must not make a ray leave before it enters.
    slack = NEAR_ZERO * (1.0 + np.where(np.isfinite(enter), np.abs(enter), 0.0))
    return np.asarray((enter <= leave + slack) & (leave >= -slack) & (enter <= reach + slack))
