"""The narrow phase: signed distances between posed shapes, in closed form, and which pairs are within a margin.

For separate shapes the distance is the Euclidean distance between the surfaces. For overlapping shapes it is negative:
minus the shortest translation that separates them, among the directions the formula considers (for upright shapes and
spheres, all relevant ones). During straight motion without rotation the distance is a convex function of time.

Closed forms exist for pairs of upright shapes (rotated about z only, or upside down), spheres with everything, capsules
with capsules, and planes with everything; all others are undecided and left to a general solver. Only additions,
products, divisions, square roots and comparisons are used: a result is the same bit for bit, alone and in a batch.

Pairs of upright shapes are measured by a kernel, in Python or compiled; the others on arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.base.spatial.quaternions import conjugate, rotate, stack
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind

# Distances of pairs of upright shapes, and which touch. Upright shapes are rectangles, widened by a radius, extruded
# along z, rounded by a ball: Minkowski sums, so the radii of both add up, and are subtracted from the distance
# between what is left.


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


Vector: TypeAlias = tuple[Floats, Floats, Floats]
Law: TypeAlias = Callable[[ShapeArrays, ShapeArrays], Floats]
# Given pairs (K, 2) of rows at their present poses and a distance >= 0, return numbers (K,) that are at most the given
# one where the signed distance of a pair is.
DistanceSolver: TypeAlias = Callable[[Ints, float], Floats]

# Comparing a column with one of its own numbers is several times faster than with an enum member.
_NONE, _DISTANCES_BOX, _DISTANCES_SPHERE, _DISTANCES_CYLINDER, _DISTANCES_CAPSULE, _PLANE = (
    np.uint8(kind)
    for kind in (
        ShapeKind.NONE,
        ShapeKind.BOX,
        ShapeKind.SPHERE,
        ShapeKind.CYLINDER,
        ShapeKind.CAPSULE,
        ShapeKind.PLANE,
    )
)


def upright_mask(shapes: ShapeArrays) -> Bools:
    """Return which rows (N,) are upright: rotated about z only or upside down, or spheres, which have no direction."""
    x, y, z, w = np.ascontiguousarray(shapes.orientations.T)
    mask = (x * x + y * y) * (z * z + w * w) < UPRIGHT
    return np.asarray(mask | (shapes.kinds == _DISTANCES_SPHERE))


def contact_pairs(
    pairs: Ints, shapes: ShapeArrays, margin: float, solve: DistanceSolver, *, compiled: bool = False
) -> Ints:
    """Return those of `pairs` (M, 2) of rows within `margin`, in their order; `solve` measures what has no formula."""
    first, second = shapes.take(pairs[:, 0]), shapes.take(pairs[:, 1])
    distances, open_mask = distances_between(first, second, reach=margin, compiled=compiled)
    with np.errstate(invalid="ignore"):
        hit_mask = distances <= margin
    open_rows = np.flatnonzero(open_mask)
    if len(open_rows):
        hit_mask[open_rows] = solve(pairs[open_rows], margin) <= margin
    return pairs[hit_mask]


def distances_between(
    a: ShapeArrays, b: ShapeArrays, *, reach: float = np.inf, compiled: bool = False
) -> tuple[Floats, Bools]:
    """Return (distances, undecided_mask), (M,) each, of shape a[k] and shape b[k].

    The distance is NaN where undecided, and infinite where a row has no shape or both are planes. Distances
    above `reach` need not be exact: any number above `reach` that is at most the true distance may be returned.
    """
    distances, open_mask = np.empty(len(a.kinds)), np.zeros(len(a.kinds), bool)
    kernel = upright_distances if compiled else upright_distances.in_python
    if not kernel(a, b, reach, distances):
        return distances, open_mask
    rest = np.flatnonzero(np.isnan(distances))
    distances[rest], open_mask[rest] = _other_distances(a.take(rest), b.take(rest))
    return distances, open_mask


def _other_distances(a: ShapeArrays, b: ShapeArrays) -> tuple[Floats, Bools]:
    """Return the same of pairs of which one is not upright, or is no number."""
    solid_a, solid_b = _solid_mask(a), _solid_mask(b)
    distances = np.full(len(a.kinds), np.nan)
    # What is upright here has broken numbers: it is near nothing, and no solver knows better.
    open_mask = ~(upright_mask(a) & upright_mask(b) & solid_a & solid_b)

    # A pair is settled by the first formula that fits; later ones see only what is left.
    def settle(mask: Bools, first: ShapeArrays, second: ShapeArrays, law: Law) -> None:
        rows = np.flatnonzero(mask & open_mask)
        if len(rows):
            distances[rows] = law(first.take(rows), second.take(rows))
            open_mask[rows] = False

    plane_a, plane_b = a.kinds == _PLANE, b.kinds == _PLANE
    nothing = (a.kinds == _NONE) | (b.kinds == _NONE) | (plane_a & plane_b)
    distances[nothing] = np.inf
    open_mask[nothing] = False
    settle(plane_a & solid_b, a, b, _plane_distances)
    settle(plane_b & solid_a, b, a, _plane_distances)
    settle((a.kinds == _DISTANCES_SPHERE) & solid_b, a, b, _sphere_distances)
    settle((b.kinds == _DISTANCES_SPHERE) & solid_a, b, a, _sphere_distances)
    settle((a.kinds == _DISTANCES_CAPSULE) & (b.kinds == _DISTANCES_CAPSULE), a, b, _capsule_distances)
    return distances, open_mask


def _solid_mask(shapes: ShapeArrays) -> Bools:
    return np.asarray((shapes.kinds >= _DISTANCES_BOX) & (shapes.kinds <= _DISTANCES_CAPSULE))


def _columns(array: Floats) -> list[Floats]:
    return list(np.ascontiguousarray(array.T))


def _distances_signed(outside: list[Floats]) -> Floats:
    """Return the signed distance to a product of intervals, given the signed distance of a point to each interval."""
    # Outside: the norm of the positive parts. Inside: the largest, that is least negative, one.
    inner, square = outside[0], np.maximum(outside[0], 0.0) ** 2
    for part in outside[1:]:
        inner = np.maximum(inner, part)
        square += np.maximum(part, 0.0) ** 2
    distances = np.sqrt(square)
    distances += np.minimum(inner, 0.0)
    return np.asarray(distances)


def _seen_from(shapes: ShapeArrays, vectors: Floats) -> Vector:
    """Return the components of world vectors (N, 3) in the frames of `shapes`."""
    x, y, z = _columns(rotate(conjugate(shapes.orientations), vectors))
    return x, y, z


def _axes(shapes: ShapeArrays) -> Vector:
    """Return the body z axes in the world."""
    x, y, z, w = _columns(shapes.orientations)
    return 2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)


def _plane_distances(planes: ShapeArrays, b: ShapeArrays) -> Floats:
    """Return how far (N,) in m shapes are above planes, negative below."""
    normals = stack(*_axes(planes))
    offset = b.positions - planes.positions
    heights = normals[:, 0] * offset[:, 0] + normals[:, 1] * offset[:, 1] + normals[:, 2] * offset[:, 2]
    x, y, z = _seen_from(b, normals)
    half_x, half_y, half_z = _columns(b.half_extents)
    across = np.sqrt(x * x + y * y) * b.radii
    reach = np.abs(x) * half_x + np.abs(y) * half_y + np.abs(z) * half_z
    reach = np.where(b.kinds == _DISTANCES_CYLINDER, across + np.abs(z) * half_z, reach)
    reach = np.where(b.kinds == _DISTANCES_SPHERE, b.radii, reach)
    reach = np.where(b.kinds == _DISTANCES_CAPSULE, np.abs(z) * (half_z - b.radii) + b.radii, reach)
    return np.asarray(heights - reach)


def _sphere_distances(spheres: ShapeArrays, b: ShapeArrays) -> Floats:
    """Return the distances (N,) in m of spheres from shapes, negative where they overlap."""
    x, y, z = (np.abs(part) for part in _seen_from(b, spheres.positions - b.positions))
    half_x, half_y, half_z = _columns(b.half_extents)
    flat = np.sqrt(x * x + y * y)
    distances = _distances_signed([x - half_x, y - half_y, z - half_z])
    distances = np.where(b.kinds == _DISTANCES_CYLINDER, _distances_signed([flat - b.radii, z - half_z]), distances)
    beyond = np.maximum(z - (half_z - b.radii), 0.0)
    round_mask = (b.kinds == _DISTANCES_CAPSULE) | (b.kinds == _DISTANCES_SPHERE)
    distances = np.where(round_mask, np.sqrt(flat * flat + beyond * beyond) - b.radii, distances)
    return distances - spheres.radii


def _capsule_distances(a: ShapeArrays, b: ShapeArrays) -> Floats:
    """Return the distance of the two core segments, centre + s u and centre + t v, minus both radii."""
    u, v = _axes(a), _axes(b)
    offset = _columns(a.positions - b.positions)
    half_a, half_b = a.half_extents[:, 2] - a.radii, b.half_extents[:, 2] - b.radii
    mixed, along_a, along_b = _dot(u, v), _dot(u, offset), _dot(v, offset)
    spread = 1.0 - mixed * mixed
    # The closest points of the two lines, then each clipped to its segment (Ericson, "Real-Time Collision Detection",
    # 5.1.9). For parallel segments (`spread` 0) any s will do to begin with.
    steps = (mixed * along_b - along_a) / np.where(spread > 1e-12, spread, 1.0)
    s = np.clip(np.where(spread > 1e-12, steps, 0.0), -half_a, half_a)
    t = np.clip(mixed * s + along_b, -half_b, half_b)
    s = np.clip(mixed * t - along_a, -half_a, half_a)
    square = sum((offset[axis] + s * u[axis] - t * v[axis]) ** 2 for axis in range(3))
    return np.asarray(np.sqrt(square) - a.radii - b.radii)


def _dot(a: Sequence[Floats], b: Sequence[Floats]) -> Floats:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
