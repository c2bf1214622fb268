"""The point of a core that is farthest in a direction: all that distances need to know of a shape."""

from __future__ import annotations

from math import copysign, sqrt

from fleet_sim.arrays import Floats
from fleet_sim.collision.convex.tables import BALL, BOX, CYLINDER, SEGMENT
from fleet_sim.kernels import compiled

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
