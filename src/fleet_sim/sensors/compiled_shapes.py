"""Where a ray enters a convex shape, by compiled code, with the bits of `spatial.ray_shapes`; inf for a miss.

A ray begins at (x, y, z) and goes along the unit vector (u, v, w), both in the frame of the shape.
"""

from __future__ import annotations

import math

from fleet_sim.arrays import Floats
from fleet_sim.kernels import compiled_step
from fleet_sim.spatial.ray_shapes import UPRIGHT
from fleet_sim.spatial.triangle_tree import PARALLEL, SLACK


@compiled_step
def enter_box(x: float, y: float, z: float, u: float, v: float, w: float, half: Floats) -> float:
    """As `enter_boxes`, for a box with the half extents `half` (3,)."""
    into, out = -math.inf, math.inf
    for origin, way, size in ((x, u, half[0]), (y, v, half[1]), (z, w, half[2])):
        # Along two sides the ray crosses neither: it is between them all the time, or never.
        if way == 0.0:
            if abs(origin) > size:
                return math.inf
            continue
        side = size if way > 0.0 else -size
        into, out = max(into, (-side - origin) / way), min(out, (side - origin) / way)
    # From inside nothing is met. Adding 0 makes 0 of -0.
    return math.inf if into > out or into < 0.0 else into + 0.0


@compiled_step
def enter_sphere(x: float, y: float, z: float, u: float, v: float, w: float, radius: float) -> float:
    """As `enter_spheres`."""
    along, beyond = x * u + y * v + z * w, x * x + y * y + z * z - radius * radius
    square = along * along - beyond
    if square < 0.0 or beyond <= 0.0:
        return math.inf
    found = -along - math.sqrt(square)
    return math.inf if found < 0.0 else found + 0.0


@compiled_step
def _side(x: float, y: float, u: float, v: float, radius: float) -> tuple[float, float]:
    """Return where a ray enters and leaves the infinite cylinder about z; inf and -inf for a miss."""
    square, along, beyond = u * u + v * v, x * u + y * v, x * x + y * y - radius * radius
    # Upright, a ray is in the cylinder all the way, or never.
    if square < UPRIGHT:
        return (math.inf, -math.inf) if beyond > 0.0 else (-math.inf, math.inf)
    root = along * along - square * beyond
    if root < 0.0:
        return math.inf, -math.inf
    half = math.sqrt(root)
    return (-along - half) / square, (-along + half) / square


@compiled_step
def enter_cylinder(
    x: float, y: float, z: float, u: float, v: float, w: float, radius: float, half_height: float
) -> float:
    """As `enter_cylinders`."""
    into, out = _side(x, y, u, v, radius)
    if w == 0.0:
        if abs(z) > half_height:
            return math.inf
    else:
        one, other = (-half_height - z) / w, (half_height - z) / w
        into, out = max(into, min(one, other)), min(out, max(one, other))
    return math.inf if into > out or into < 0.0 else into + 0.0


@compiled_step
def enter_capsule(x: float, y: float, z: float, u: float, v: float, w: float, radius: float, reach: float) -> float:
    """As `enter_capsules`, for an axis from -`reach` to `reach`."""
    # The nearest point of the axis: from inside nothing is met.
    axis = z - min(max(z, -reach), reach)
    if x * x + y * y + axis * axis <= radius * radius:
        return math.inf
    into, _ = _side(x, y, u, v, radius)
    found = math.inf
    # On its side between the two ends; all else is on the balls at these.
    if 0.0 <= into < math.inf and abs(z + into * w) <= reach:
        found = into + 0.0
    found = min(found, enter_sphere(x, y, z + reach, u, v, w, radius))
    return min(found, enter_sphere(x, y, z - reach, u, v, w, radius))


@compiled_step
def meet_plane(z: float, w: float) -> float:
    """As `meet_planes`."""
    if z == 0.0 or w == 0.0:
        return math.inf
    found = -z / w
    return found + 0.0 if found >= 0.0 else math.inf


@compiled_step
def enter_hull(
    x: float, y: float, z: float, u: float, v: float, w: float, planes: Floats, first: int, last: int
) -> float:
    """As `enter_hull`, for those of `planes` (F, 4) from `first` on, up to `last`."""
    into, out = -math.inf, math.inf
    for side in range(first, last):
        a, b, c = planes[side, 0], planes[side, 1], planes[side, 2]
        # Above the plane of the side, and how fast the ray comes nearer to that, or goes away.
        height, closing = x * a + y * b + z * c - planes[side, 3], u * a + v * b + w * c
        if closing < 0.0:
            into = max(into, -height / closing)
        elif closing > 0.0:
            out = min(out, -height / closing)
        elif height > 0.0:
            return math.inf
        if into > out:
            return math.inf
    return math.inf if into < 0.0 else into + 0.0


@compiled_step
def meet_triangle(x: float, y: float, z: float, u: float, v: float, w: float, triangle: Floats) -> float:
    """As `TriangleTree.cast`, for one of its triangles (9,): apex and two sides."""
    a, b, c, d, e, f = triangle[3], triangle[4], triangle[5], triangle[6], triangle[7], triangle[8]
    # As Möller and Trumbore do it: Cramer's rule gives the shares of both sides, and the distance.
    across_x, across_y, across_z = v * f - w * e, w * d - u * f, u * e - v * d
    area = a * across_x + b * across_y + c * across_z
    if abs(area) < PARALLEL:
        return math.inf
    off_x, off_y, off_z = x - triangle[0], y - triangle[1], z - triangle[2]
    share = (off_x * across_x + off_y * across_y + off_z * across_z) / area
    if share < -SLACK:
        return math.inf
    turned_x, turned_y, turned_z = off_y * c - off_z * b, off_z * a - off_x * c, off_x * b - off_y * a
    other = (u * turned_x + v * turned_y + w * turned_z) / area
    found = (d * turned_x + e * turned_y + f * turned_z) / area
    if other < -SLACK or share + other > 1.0 + SLACK or found <= 0.0:
        return math.inf
    return found
