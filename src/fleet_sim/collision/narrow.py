"""The narrow phase: decides which candidate pairs are really within the margin.

Pairs with a closed form are computed here; the caller passes a function for the rest. So no physics engine is needed
here, and none is loaded for worlds of upright shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.spatial.distances import pair_distances
from fleet_sim.spatial.shapes import ShapeArrays

# Given pairs (K, 2) of rows at their present poses and a distance >= 0, return numbers (K,) that are at most the given
# one where the signed distance of a pair is.
DistanceSolver: TypeAlias = Callable[[Ints, float], Floats]


def closer_than(pairs: Ints, shapes: ShapeArrays, margin: float) -> tuple[Bools, Bools]:
    """Return (hit_mask, undecided_mask), (M,) each, for `pairs` (M, 2) of rows of `shapes`.

    A hit is a distance <= margin; overlapping shapes have a negative one. Undecided pairs, which have no
    closed form (see `spatial.distances`), are not hits.
    """
    distances, undecided_mask = pair_distances(pairs, shapes, reach=margin)
    with np.errstate(invalid="ignore"):
        return distances <= margin, undecided_mask


def contact_pairs(
    pairs: Ints, shapes: ShapeArrays, margin: float, solve: DistanceSolver | None = None
) -> tuple[Ints, int]:
    """Return the `pairs` within `margin`, in their order, and the number of pairs without a closed form.

    Without `solve`, pairs without a closed form are taken as hits: their boxes are within the margin.
    """
    hit_mask, undecided_mask = closer_than(pairs, shapes, margin)
    open_rows = np.flatnonzero(undecided_mask)
    if len(open_rows):
        hit_mask[open_rows] = True if solve is None else solve(pairs[open_rows], margin) <= margin
    return pairs[hit_mask], len(open_rows)
