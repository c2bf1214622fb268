"""Concave meshes as MuJoCo can have them: thin plates, one for each flat convex part of the surface.

Triangles of one plane are merged where their union is convex. Corners that are very near are one, so that neighbors are
found in files that repeat each corner.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes.loading import load_mesh

HALF_THICKNESS = 5e-5
"""Of a plate, in m, to both sides of the surface: things rest this far from it, whichever side it is seen from."""
MOST_PLATES = 20_000
"""In one mesh. Compiling a model takes 0.1 s for each thousand of them, and contacts near small ones get slow."""
_FLAT = 1e-6
"""Sine of the angle between triangles that are parts of one plate."""
_AREA = 1e-9
"""Share of the area of a plate that its hull may be larger, by rounding."""
_WELD = 1e-7
"""Corners nearer to each other than this share of the mesh's size are one."""


class _Polygon(NamedTuple):
    """A convex part of a plane: its corners, as numbers of points in order, and its area."""

    corners: tuple[int, ...]
    area: float


@lru_cache(maxsize=64)
def plates(path: str, scale: tuple[float, float, float], _changed: int) -> tuple[Floats, ...]:
    """Return the corners (N, 3) of the plates that a concave mesh file is made of, in the frame of the file.

    Neighbours that lie in a plane are one plate where that is convex, so that what lies on a floor does not lie on the
    seams of its triangles. Raises InvalidValueError for a mesh without area, or of more than MOST_PLATES plates.
    """
    points, triangles = _welded(path, np.array(scale))
    edges = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    normals = np.cross(*edges)
    # The length of the cross product is twice the area.
    doubled = np.linalg.norm(normals, axis=1)
    broad_mask = doubled > 1e-12
    triangles, doubled = triangles[broad_mask], doubled[broad_mask]
    if not len(triangles):
        raise InvalidValueError(f"the concave mesh {path!r} has no triangle with an area")
    normals = normals[broad_mask] / doubled[:, None]
    found = _merged(points, triangles, normals, 0.5 * doubled)
    if len(found) > MOST_PLATES:
        raise InvalidValueError(
            f"the concave mesh {path!r} has {len(found)} flat parts, and MuJoCo takes {MOST_PLATES}; use a coarser "
            "mesh, or engine: bullet"
        )
    # Thin plates to both sides of the surface: MuJoCo has no surfaces.
    shift = HALF_THICKNESS * normals
    return tuple(
        np.concatenate((points[list(polygon.corners)] + shift[first], points[list(polygon.corners)] - shift[first]))
        for first, polygon in found.items()
    )


def _welded(path: str, scale: Floats) -> tuple[Floats, Ints]:
    """Return all points (V, 3), each once, and the triangles (T, 3) between them."""
    parts, first, triangles = load_mesh(path).parts, 0, []
    for part in parts:
        triangles.append(part.triangles + first)
        first += len(part.positions)
    points = np.concatenate([part.positions for part in parts]) * scale
    # Corners of a share of the mesh's size are one, as files store them triangle by triangle.
    grid = _WELD * max(float(np.ptp(points, axis=0).max()), 1e-9)
    _, at, numbers = np.unique(np.round(points / grid), axis=0, return_index=True, return_inverse=True)
    return points[at], numbers.reshape(-1)[np.concatenate(triangles)]


def _merged(points: Floats, triangles: Ints, normals: Floats, areas: Floats) -> dict[int, _Polygon]:
    """Return convex polygons that cover the triangles, each by the number of one of its triangles."""
    polygons = {
        number: _Polygon(tuple(corners), area)
        for number, (corners, area) in enumerate(zip(triangles.tolist(), areas.tolist(), strict=True))
    }
    into = list(range(len(triangles)))

    def owner(number: int) -> int:
        while into[number] != number:
            # Paths are shortened on the way, so that the next search is short.
            into[number] = into[into[number]]
            number = into[number]
        return number

    waiting = _flat_neighbours(triangles, normals)
    # Again while anything was merged: a pair that is not convex may be with a third.
    while waiting:
        left = []
        for one, other in waiting:
            first, second = owner(one), owner(other)
            if first == second:
                continue
            union = _union(points, normals[first], polygons[first], polygons[second])
            if union is None:
                left.append((first, second))
                continue
            polygons[first] = union
            into[second] = first
            del polygons[second]
        if len(left) == len(waiting):
            break
        waiting = left
    return polygons


def _flat_neighbours(triangles: Ints, normals: Floats) -> list[tuple[int, int]]:
    """Return the pairs of triangles that have an edge in common and lie in one plane."""
    sides: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, (a, b, c) in enumerate(triangles.tolist()):
        for one, other in ((a, b), (b, c), (c, a)):
            # By its ends, the smaller number first: both triangles name the same edge.
            sides[min(one, other), max(one, other)].append(number)
    # Where three meet, none of them is the one that goes on.
    pairs = np.array([found for found in sides.values() if len(found) == 2], np.int64).reshape(-1, 2)
    tilts = np.linalg.norm(np.cross(normals[pairs[:, 0]], normals[pairs[:, 1]]), axis=1)
    found = pairs[tilts < _FLAT]
    return [(one, other) for one, other in found.tolist()]


def _union(points: Floats, normal: Floats, one: _Polygon, other: _Polygon) -> _Polygon | None:
    """Return both as one polygon, or None where they are not convex together."""
    corners = list(dict.fromkeys((*one.corners, *other.corners)))
    # The axis that is least along the normal is never parallel to it.
    across = np.eye(3)[np.abs(normal).argmin()]
    u = np.cross(normal, across)
    u /= np.linalg.norm(u)
    flat = points[corners] @ np.stack((u, np.cross(normal, u)), axis=1)
    hull = _hull(flat)
    x, y = flat[hull].T
    area = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
    total = one.area + other.area
    # The hull of two parts that overlap, or have a gap between them, is not as large as both.
    if abs(area - total) > _AREA * total:
        return None
    return _Polygon(tuple(corners[index] for index in hull), total)


def _hull(flat: Floats) -> list[int]:
    """Return the corners of the hull of points (N, 2), in order."""
    order = sorted(range(len(flat)), key=lambda index: (flat[index, 0], flat[index, 1]))
    values = flat.tolist()

    def half(numbers: list[int]) -> list[int]:
        chain: list[int] = []
        for number in numbers:
            # A turn to the right, or none: the one before is no corner.
            while len(chain) > 1 and _turn(values[chain[-2]], values[chain[-1]], values[number]) <= 0.0:
                chain.pop()
            chain.append(number)
        return chain[:-1]

    return half(order) + half(order[::-1])


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
