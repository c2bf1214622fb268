"""Distances of pairs of upright shapes, and which touch.

Upright shapes are rectangles, widened by a radius, extruded along z, rounded by a ball: Minkowski sums, so the radii of
both add up, and are subtracted from the distance between what is left.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.kernels import compiled_step, inlined
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

_BOX, _SPHERE, _CYLINDER, _CAPSULE = (
    int(kind) for kind in (ShapeKind.BOX, ShapeKind.SPHERE, ShapeKind.CYLINDER, ShapeKind.CAPSULE)
)
# (x^2 + y^2) (z^2 + w^2) of a quaternion below this is a tilt of less than 1e-7 rad: under a micrometre on ten metres.
UPRIGHT = 1e-15

Rectangle = tuple[float, float, float, float]
"""Half sizes, cosine and sine of the heading. What is round is a point with heading 0, and a radius elsewhere."""


@compiled_step
def upright_contacts(
    pairs: Ints,
    kinds: Bytes,
    centred_mask: Bools,
    positions: Floats,
    orientations: Floats,
    half_extents: Floats,
    radii: Floats,
    margin: float,
    hits: Ints,
    left: Ints,
) -> tuple[int, int]:
    """Write the `pairs` (M, 2) of rows within `margin` to `hits`, those of other shapes to `left`, (M, 2) each.

    Returns how many there are. The arguments between are columns of the world; shapes that are not centred are others.
    """
    found, open_count = 0, 0
    shapes = ShapeArrays(kinds, positions, orientations, half_extents, radii)
    for index in range(len(pairs)):
        one, other = pairs[index, 0], pairs[index, 1]
        distance = math.nan
        upright = _is_upright(kinds[one], orientations, one) and _is_upright(kinds[other], orientations, other)
        if upright and centred_mask[one] and centred_mask[other]:
            distance = _distance(shapes, one, shapes, other, margin)
        # NaN, which differs from itself, stands for all that is measured elsewhere.
        if distance != distance:
            left[open_count, 0], left[open_count, 1] = one, other
            open_count += 1
        elif distance <= margin:
            hits[found, 0], hits[found, 1] = one, other
            found += 1
    return found, open_count


@compiled_step
def upright_distances(a: ShapeArrays, b: ShapeArrays, reach: float, distances: Floats) -> int:
    """Write the `distances` (M,) of shape a[k] and shape b[k], NaN for other shapes; return how many others there are.

    Above `reach` they may be smaller than the distance, but no smaller than `reach`.
    """
    others = 0
    for index in range(len(distances)):
        distance = math.nan
        if _is_upright(a.kinds[index], a.orientations, index) and _is_upright(b.kinds[index], b.orientations, index):
            distance = _distance(a, index, b, index, reach)
        distances[index] = distance
        if distance != distance:
            others += 1
    return others


@inlined
def _is_upright(kind: int, orientations: Floats, row: int) -> bool:
    x, y, z, w = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
    solid = kind in (_BOX, _SPHERE, _CYLINDER, _CAPSULE)
    # 0 for a turn about the vertical axis, and where it is upside down.
    return solid and ((x * x + y * y) * (z * z + w * w) < UPRIGHT or kind == _SPHERE)


@inlined
def _distance(a: ShapeArrays, one: int, b: ShapeArrays, other: int, reach: float) -> float:
    """Return the distance of upright shapes a[one] and b[other]; NaN for broken numbers."""
    kind, other_kind = a.kinds[one], b.kinds[other]
    dx, dy = b.positions[other, 0] - a.positions[one, 0], b.positions[other, 1] - a.positions[one, 1]
    gap = abs(b.positions[other, 2] - a.positions[one, 2])
    ball = a.radii[one] if kind in (_SPHERE, _CAPSULE) else 0.0
    other_ball = b.radii[other] if other_kind in (_SPHERE, _CAPSULE) else 0.0
    # What is round above and below is a shape without that height here, and its radius is taken off at the end.
    rounds = ball + other_ball
    gap -= a.half_extents[one, 2] - ball
    gap -= b.half_extents[other, 2] - other_ball
    width = (a.radii[one] if kind == _CYLINDER else 0.0) + (b.radii[other] if other_kind == _CYLINDER else 0.0)
    flat = _rectangle_distance(
        _rectangle(kind, a.orientations, a.half_extents, one),
        _rectangle(other_kind, b.orientations, b.half_extents, other),
        dx,
        dy,
        width + (rounds + reach),
    )
    return float(_signed(flat - width, gap) - rounds)


@inlined
def _rectangle(kind: int, orientations: Floats, half_extents: Floats, row: int) -> Rectangle:
    if kind != _BOX:
        return 0.0, 0.0, 1.0, 0.0
    x, y, z, w = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
    return half_extents[row, 0], half_extents[row, 1], 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w)


@compiled_step
def _signed(first: float, second: float) -> float:
    """Return the signed distance to a product of two intervals, given those of a point to each."""
    a, b = max(first, 0.0), max(second, 0.0)
    # Outside, the length of what is missing on the two; inside, how far it is to the nearer end, negative.
    return math.sqrt(a * a + b * b) + min(max(first, second), 0.0)


@compiled_step
def _rectangle_distance(a: Rectangle, b: Rectangle, dx: float, dy: float, reach: float) -> float:
    """Return the signed distance in the plane of rectangles whose centres are (dx, dy) apart.

    Above `reach` the widest gap along a side is returned instead, which is at most the distance.
    """
    # Not `>=`: false of what is no number, too.
    if not abs(dx) + abs(dy) < np.inf:
        return math.nan
    half_a, half_b = (a[0], a[1]), (b[0], b[1])
    cos_a, sin_a, cos_b, sin_b = a[2], a[3], b[2], b[3]
    b_in_a = (cos_a * dx + sin_a * dy, cos_a * dy - sin_a * dx)
    a_in_b = (-(cos_b * dx + sin_b * dy), sin_b * dx - cos_b * dy)
    cosine, sine = cos_a * cos_b + sin_a * sin_b, cos_a * sin_b - sin_a * cos_b
    turn_x, turn_y = abs(cosine), abs(sine)
    # The sides of both are the axes that may separate them.
    distance = abs(b_in_a[0]) - half_a[0] - (turn_x * half_b[0] + turn_y * half_b[1])
    distance = max(distance, abs(b_in_a[1]) - half_a[1] - (turn_y * half_b[0] + turn_x * half_b[1]))
    distance = max(distance, abs(a_in_b[0]) - half_b[0] - (turn_x * half_a[0] + turn_y * half_a[1]))
    distance = max(distance, abs(a_in_b[1]) - half_b[1] - (turn_y * half_a[0] + turn_x * half_a[1]))
    # Where they are apart, an axis may give less than the distance, as of two corners.
    if 0.0 < distance <= reach:
        mine = _corner_distance(half_a, half_b, b_in_a, cosine, sine)
        yours = _corner_distance(half_b, half_a, a_in_b, cosine, -sine)
        return min(mine, yours)
    return distance


@compiled_step
def _corner_distance(
    half: tuple[float, float], other: tuple[float, float], centre: tuple[float, float], cosine: float, sine: float
) -> float:
    """Return the smallest signed distance from the corners of the other rectangle to this one."""
    along, across = (cosine * other[0], sine * other[0]), (-sine * other[1], cosine * other[1])
    best = np.inf
    for sign_x in (-1.0, 1.0):
        for sign_y in (-1.0, 1.0):
            x = centre[0] + sign_x * along[0] + sign_y * across[0]
            y = centre[1] + sign_x * along[1] + sign_y * across[1]
            best = min(best, _signed(abs(x) - half[0], abs(y) - half[1]))
    return best
