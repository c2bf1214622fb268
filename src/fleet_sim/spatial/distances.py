"""Signed distances between posed shapes, in closed form.

For separate shapes the distance is the Euclidean distance between the surfaces. For overlapping shapes it is negative:
minus the shortest translation that separates them, among the directions the formula considers (for upright shapes and
spheres, all relevant ones). During straight motion without rotation the distance is a convex function of time.

Closed forms exist for pairs of upright shapes (rotated about z only, or upside down), spheres with everything, capsules
with capsules, and planes with everything; all others are undecided and left to a general solver. Only additions,
products, divisions, square roots and comparisons are used: a result is the same bit for bit, alone and in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.spatial.quaternions import conjugate, rotate, stack
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

Vector: TypeAlias = tuple[Floats, Floats, Floats]
Law: TypeAlias = Callable[[ShapeArrays, ShapeArrays], Floats]

# (x^2 + y^2) (z^2 + w^2) of a quaternion below this is a tilt of less than 1e-7 rad: under a micrometre on ten metres.
_UPRIGHT = 1e-15
_SIGNS_X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
_SIGNS_Y = np.array([[-1.0], [1.0], [-1.0], [1.0]])
# Comparing a column with one of its own numbers is several times faster than with an enum member.
_NONE, _BOX, _SPHERE, _CYLINDER, _CAPSULE, _PLANE = (
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
    mask = (x * x + y * y) * (z * z + w * w) < _UPRIGHT
    return np.asarray(mask | (shapes.kinds == _SPHERE))


def pair_distances(pairs: Ints, shapes: ShapeArrays, *, reach: float = np.inf) -> tuple[Floats, Bools]:
    """Return (distances, undecided_mask), (M,) each, of the shapes of `pairs` (M, 2) of rows.

    The distance is NaN where undecided, and infinite where a row has no shape or both are planes. Distances
    above `reach` need not be exact: any number above `reach` that is at most the true distance may be returned.
    """
    return distances_between(shapes.take(pairs[:, 0]), shapes.take(pairs[:, 1]), reach=reach)


def distances_between(a: ShapeArrays, b: ShapeArrays, *, reach: float = np.inf) -> tuple[Floats, Bools]:
    """Return (distances, undecided_mask), (M,) each, of shape a[k] and shape b[k]; see `pair_distances`."""
    solid_a, solid_b = _solid_mask(a), _solid_mask(b)
    both = upright_mask(a)
    both &= upright_mask(b)
    both &= solid_a
    both &= solid_b
    if both.all():
        return _upright_distances(a, b, reach), ~both
    distances = np.full(len(a.kinds), np.nan)
    open_mask = np.ones(len(distances), bool)

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
    settle(both, a, b, lambda first, second: _upright_distances(first, second, reach))
    settle(plane_a & solid_b, a, b, _plane_distances)
    settle(plane_b & solid_a, b, a, _plane_distances)
    settle((a.kinds == _SPHERE) & solid_b, a, b, _sphere_distances)
    settle((b.kinds == _SPHERE) & solid_a, b, a, _sphere_distances)
    settle((a.kinds == _CAPSULE) & (b.kinds == _CAPSULE), a, b, _capsule_distances)
    return distances, open_mask


def _solid_mask(shapes: ShapeArrays) -> Bools:
    return np.asarray((shapes.kinds >= _BOX) & (shapes.kinds <= _CAPSULE))


def _columns(array: Floats) -> list[Floats]:
    return list(np.ascontiguousarray(array.T))


def _signed(outside: list[Floats]) -> Floats:
    """Return the signed distance to a product of intervals, given the signed distance of a point to each interval."""
    # Outside: the norm of the positive parts. Inside: the largest, that is least negative, one.
    inner, square = outside[0], np.maximum(outside[0], 0.0) ** 2
    for part in outside[1:]:
        inner = np.maximum(inner, part)
        square += np.maximum(part, 0.0) ** 2
    distances = np.sqrt(square)
    distances += np.minimum(inner, 0.0)
    return np.asarray(distances)


def _upright_distances(a: ShapeArrays, b: ShapeArrays, reach: float) -> Floats:
    """Return distances of upright shapes: rectangles, widened by a radius, extruded along z, rounded by a ball."""
    # Minkowski sums: the radii of both shapes add up, and are subtracted from the distance between what is left.
    ax, ay, az = _columns(a.positions)
    bx, by, bz = _columns(b.positions)
    gap = np.abs(bz - az)
    box_a, box_b = a.kinds == _BOX, b.kinds == _BOX
    if box_a.all() and box_b.all():
        rectangles_a, rectangles_b = _rectangles(a, None), _rectangles(b, None)
        flat = _rectangle_distances(rectangles_a, rectangles_b, (bx - ax, by - ay), np.full(len(gap), reach))
        gap -= a.half_extents[:, 2]
        gap -= b.half_extents[:, 2]
        return _signed([flat, gap])
    round_a, round_b = _ball_radii(a), _ball_radii(b)
    rounds = round_a + round_b
    gap -= a.half_extents[:, 2] - round_a
    gap -= b.half_extents[:, 2] - round_b
    widths = np.where(a.kinds == _CYLINDER, a.radii, 0.0)
    widths += np.where(b.kinds == _CYLINDER, b.radii, 0.0)
    rectangles_a, rectangles_b = _rectangles(a, box_a), _rectangles(b, box_b)
    flat = _rectangle_distances(rectangles_a, rectangles_b, (bx - ax, by - ay), widths + (rounds + reach))
    flat -= widths
    distances = _signed([flat, gap])
    distances -= rounds
    return distances


def _ball_radii(shapes: ShapeArrays) -> Floats:
    round_mask = (shapes.kinds == _SPHERE) | (shapes.kinds == _CAPSULE)
    return np.where(round_mask, shapes.radii, 0.0)


class _Rectangles(NamedTuple):
    """Rectangles in the plane: half sizes, cosine and sine of their headings, (M,) each."""

    half: tuple[Floats, Floats]
    cosine: Floats
    sine: Floats


def _rectangles(shapes: ShapeArrays, box_mask: Bools | None) -> _Rectangles:
    """Return the rectangles of boxes; shapes outside `box_mask` become points with heading 0."""
    x, y, z, w = _columns(shapes.orientations)
    cosine, sine = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w)
    half = shapes.half_extents[:, 0], shapes.half_extents[:, 1]
    if box_mask is None:
        return _Rectangles(half, cosine, sine)
    half = np.where(box_mask, half[0], 0.0), np.where(box_mask, half[1], 0.0)
    return _Rectangles(half, np.where(box_mask, cosine, 1.0), np.where(box_mask, sine, 0.0))


def _rectangle_distances(a: _Rectangles, b: _Rectangles, offset: tuple[Floats, Floats], reaches: Floats) -> Floats:
    """Return signed distances in the plane between rectangles whose centres are `offset` apart.

    Above `reaches` (M,) the widest gap along a side is returned instead, which is at most the distance.
    """
    dx, dy = offset
    half_a, cos_a, sin_a = a
    half_b, cos_b, sin_b = b
    # b's centre in a's frame, a's centre in b's frame, and the rotation between the two frames. Then the separating
    # axis test: the largest gap over the directions of all sides.
    b_in_a = (cos_a * dx + sin_a * dy, cos_a * dy - sin_a * dx)
    a_in_b = (-(cos_b * dx + sin_b * dy), sin_b * dx - cos_b * dy)
    cosine, sine = cos_a * cos_b + sin_a * sin_b, cos_a * sin_b - sin_a * cos_b
    turn_x, turn_y = np.abs(cosine), np.abs(sine)
    distances = np.abs(b_in_a[0]) - half_a[0] - (turn_x * half_b[0] + turn_y * half_b[1])
    for other in (
        np.abs(b_in_a[1]) - half_a[1] - (turn_y * half_b[0] + turn_x * half_b[1]),
        np.abs(a_in_b[0]) - half_b[0] - (turn_x * half_a[0] + turn_y * half_a[1]),
        np.abs(a_in_b[1]) - half_b[1] - (turn_y * half_a[0] + turn_x * half_a[1]),
    ):
        np.maximum(distances, other, out=distances)
    # For overlapping rectangles the largest gap is the (negative) depth. The distance of separate ones is from a corner
    # of one to the other.
    apart = np.flatnonzero((distances > 0.0) & (distances <= reaches))
    if len(apart):
        turn = (cosine[apart], sine[apart])
        back = (turn[0], -turn[1])
        half_a, half_b = (half_a[0][apart], half_a[1][apart]), (half_b[0][apart], half_b[1][apart])
        b_in_a, a_in_b = (b_in_a[0][apart], b_in_a[1][apart]), (a_in_b[0][apart], a_in_b[1][apart])
        distances[apart] = np.minimum(
            _corner_distances(half_a, half_b, b_in_a, turn), _corner_distances(half_b, half_a, a_in_b, back)
        )
    return np.asarray(distances)


def _corner_distances(
    half: tuple[Floats, Floats],
    other_half: tuple[Floats, Floats],
    centre: tuple[Floats, Floats],
    turn: tuple[Floats, Floats],
) -> Floats:
    """Return the smallest signed distance from the corners of the other rectangles to these."""
    cosine, sine = turn
    along = (cosine * other_half[0], sine * other_half[0])
    across = (-sine * other_half[1], cosine * other_half[1])
    x = centre[0] + _SIGNS_X * along[0] + _SIGNS_Y * across[0]
    y = centre[1] + _SIGNS_X * along[1] + _SIGNS_Y * across[1]
    return np.asarray(np.minimum.reduce(_signed([np.abs(x) - half[0], np.abs(y) - half[1]])))


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
    reach = np.where(b.kinds == _CYLINDER, across + np.abs(z) * half_z, reach)
    reach = np.where(b.kinds == _SPHERE, b.radii, reach)
    reach = np.where(b.kinds == _CAPSULE, np.abs(z) * (half_z - b.radii) + b.radii, reach)
    return np.asarray(heights - reach)


def _sphere_distances(spheres: ShapeArrays, b: ShapeArrays) -> Floats:
    """Return the distances (N,) in m of spheres from shapes, negative where they overlap."""
    x, y, z = (np.abs(part) for part in _seen_from(b, spheres.positions - b.positions))
    half_x, half_y, half_z = _columns(b.half_extents)
    flat = np.sqrt(x * x + y * y)
    distances = _signed([x - half_x, y - half_y, z - half_z])
    distances = np.where(b.kinds == _CYLINDER, _signed([flat - b.radii, z - half_z]), distances)
    beyond = np.maximum(z - (half_z - b.radii), 0.0)
    round_mask = (b.kinds == _CAPSULE) | (b.kinds == _SPHERE)
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
