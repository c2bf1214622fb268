"""The Delaunay triangulation of points in the plane."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric

OUTSIDE = -1
"""The corner beyond all points: the third one of a triangle that stands on a side of the hull, outside."""
FLAT = 1e-12
"""Three points are on one line where twice the area between them is less than this share of the box's."""


def delaunay_edges(positions: Floats) -> Ints:
    """Return the sides (E, 2), as indices in order, of the Delaunay triangulation of `positions` (N, 2).

    There are none for fewer than three points, or all on one line; of points in one place all but the first are left
    out. Where four points or more lie on one circle, any of the triangulations that are right. Time goes with N^2.
    """
    # Equal points would make triangles without area; one of each stands for all.
    _, first = np.unique(positions, axis=0, return_index=True)
    keep = np.sort(first)
    triangles = _triangles(positions[keep])
    inner = triangles[(triangles != OUTSIDE).all(axis=1)]
    sides = np.concatenate((inner[:, [0, 1]], inner[:, [1, 2]], inner[:, [2, 0]]))
    edges: Ints = keep[np.unique(np.sort(sides, axis=1), axis=0)]
    return edges


def _triangles(points: Floats) -> Ints:
    """Return triangles (T, 3) counter-clockwise, with those outside of the hull, by inserting one point at a time.

    Bowyer (1981) and Watson (1981): the triangles whose circles hold the new point make way for those between it and
    the border of the hole. The corner outside spares a large triangle about all points, which would bend the hull.
    """
    start = _first_triangle(points)
    if start is None:
        return np.empty((0, 3), np.int64)
    a, b, c = start
    # Three triangles outside close the hull, so that a point beyond it is inserted as any other.
    triangles = np.array([(a, b, c), (b, a, OUTSIDE), (c, b, OUTSIDE), (a, c, OUTSIDE)], np.int64)
    for index in range(len(points)):
        if index in start:
            continue
        # All triangles whose circle holds the new point go, and the hole is filled with a fan about the point.
        hit_mask = _holds(points, triangles, points[index])
        border = _border(triangles[hit_mask])
        fan = np.column_stack((border, np.full(len(border), index)))
        triangles = np.concatenate((triangles[~hit_mask], _outside_last(fan)))
    return triangles


def _first_triangle(points: Floats) -> tuple[int, int, int] | None:
    """Return three points counter-clockwise that are not on one line, or None."""
    if len(points) < 3:
        return None
    middle = points.mean(axis=0)
    a = int(np.argmax(((points - middle) ** 2).sum(axis=1)))
    b = int(np.argmax(((points - points[a]) ** 2).sum(axis=1)))
    # The widest triangle on the longest side is the safest start.
    areas = _cross(points[b] - points[a], points - points[a])
    c = int(np.argmax(np.abs(areas)))
    # All points are on one line, as near as rounding can tell: there is no triangle.
    if abs(areas[c]) <= FLAT * float(((points[b] - points[a]) ** 2).sum()):
        return None
    return (a, b, c) if areas[c] > 0.0 else (b, a, c)


def _cross(first: Floats, second: Floats) -> Floats:
    product: Floats = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    return product


def _holds(points: Floats, triangles: Ints, point: Floats) -> Bools:
    """Return which triangles (T, 3) have `point` in their circle; outside of the hull that is the half plane beyond."""
    a, b, c = (points[triangles[:, corner]] - point for corner in range(3))
    (aa, bb, cc) = ((side * side).sum(axis=1) for side in (a, b, c))
    inside: Bools = aa * _cross(b, c) + bb * _cross(c, a) + cc * _cross(a, b) > 0.0
    outer_mask = triangles[:, 2] == OUTSIDE
    beyond = _cross(a, b)
    # On the line of a side of the hull, only between its ends: there the side is split.
    between = (a * b).sum(axis=1) < 0.0
    return np.where(outer_mask, (beyond > 0.0) | ((beyond == 0.0) & between), inside)


def _border(hole: Ints) -> Ints:
    """Return the directed sides (K, 2) of the triangles `hole` (T, 3) that no two of them share."""
    sides = np.concatenate((hole[:, [0, 1]], hole[:, [1, 2]], hole[:, [2, 0]]))
    # Directed: two triangles pass a shared side in opposite directions.
    known = set(map(tuple, sides.tolist()))
    return np.array([side for side in sides.tolist() if (side[1], side[0]) not in known], np.int64).reshape(-1, 2)


def _outside_last(triangles: Ints) -> Ints:
    """Return the triangles (T, 3) turned so that the corner outside, where they have it, is the last one."""
    turned = triangles.copy()
    for corner in (0, 1):
        mask = triangles[:, corner] == OUTSIDE
        turned[mask] = np.roll(triangles[mask], 2 - corner, axis=1)
    return turned


UNEVENNESS = 10.0
"""Weight of the variance, per m^2."""


def delaunay_diffusion(positions: Floats) -> float:
    """Return w h (min(w, h) / max(w, h)) / (1 + 10 v), in m^2.

    w and h are the sides of the box about `positions` (N, 2), and v is the variance of the lengths of the sides of
    their Delaunay triangulation, in m^2. NaN for fewer than three agents, or all on one line.
    """
    edges = delaunay_edges(positions)
    if not len(edges):
        return float("nan")
    sides = positions[edges[:, 0]] - positions[edges[:, 1]]
    variance = float(trig.hypot(sides[:, 0], sides[:, 1]).var())
    width, height = (positions.max(axis=0) - positions.min(axis=0)).tolist()
    return float(min(width, height) ** 2 / (1.0 + UNEVENNESS * variance))


class DelaunayDiffusion(CrowdMetric):
    """How far and how evenly the agents are spread; see `delaunay_diffusion`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return delaunay_diffusion(crowd.positions)
