"""The narrow phase: signed distances between posed shapes, in closed form, and which pairs are within a margin.

For separate shapes the distance is the Euclidean distance between the surfaces. For overlapping shapes it is negative:
minus the shortest translation that separates them, among the directions the formula considers (for upright shapes and
spheres, all relevant ones). During straight motion without rotation the distance is a convex function of time.

Closed forms exist for pairs of upright shapes (rotated about z only, or upside down), spheres with everything, capsules
with capsules, and planes with everything; all others are undecided and left to a general solver. Only additions,
products, divisions, square roots and comparisons are used: a result is the same bit for bit, alone and in a batch.

Pairs of upright shapes are measured by a kernel, `compiled_upright.py`, in Python or compiled; the others on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.collision.compiled_upright import UPRIGHT, upright_distances
from fleet_sim.spatial.quaternions import conjugate, rotate, stack
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

Vector: TypeAlias = tuple[Floats, Floats, Floats]
Law: TypeAlias = Callable[[ShapeArrays, ShapeArrays], Floats]
# Given pairs (K, 2) of rows at their present poses and a distance >= 0, return numbers (K,) that are at most the given
# one where the signed distance of a pair is.
DistanceSolver: TypeAlias = Callable[[Ints, float], Floats]

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
    mask = (x * x + y * y) * (z * z + w * w) < UPRIGHT
    return np.asarray(mask | (shapes.kinds == _SPHERE))


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
