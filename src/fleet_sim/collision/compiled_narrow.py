"""A look at candidate pairs by compiled code that leaves the fewest to the narrow phase."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.kernels import compiled
from fleet_sim.spatial.shapes import ShapeKind

_SPHERE, _CYLINDER = int(ShapeKind.SPHERE), int(ShapeKind.CYLINDER)
# A share that is larger than the rounding of any of these numbers.
_SLACK = 1.0 + 1e-9


@compiled
def may_touch(
    pairs: Ints,
    kinds: Bytes,
    centred_mask: Bools,
    positions: Floats,
    orientations: Floats,
    radii: Floats,
    margin: float,
) -> Bools:
    """Return which `pairs` (M, 2) of rows may be within `margin`: all but discs, seen from above, that are apart.

    Discs are spheres and upright cylinders on their bodies. The arguments between are columns of the world.
    """
    mask = np.ones(len(pairs), np.bool_)
    for index in range(len(pairs)):
        round_ones = True
        for side in range(2):
            row = pairs[index, side]
            upright = orientations[row, 0] == 0.0 and orientations[row, 1] == 0.0
            disc = kinds[row] == _SPHERE or (kinds[row] == _CYLINDER and upright)
            round_ones = round_ones and disc and centred_mask[row]
        if round_ones:
            one, other = pairs[index]
            x, y = positions[one, 0] - positions[other, 0], positions[one, 1] - positions[other, 1]
            reach = (radii[one] + radii[other] + margin) * _SLACK
            mask[index] = not x * x + y * y > reach * reach * _SLACK
    return mask
