"""How much ground the swarm covers."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric

_DIRECTIONS = 16


def convex_hull(positions: Floats) -> Floats:
    """Return the corners (K, 2) of the convex hull of `positions` (N, 2), counter-clockwise.

    Andrew, "Another efficient algorithm for convex hulls in two dimensions" (1979), after points inside the polygon of
    the extreme ones are left out (Akl and Toussaint, 1978). Points on an edge are no corners.
    """
    # Sorted by x, then y, as the chains need it.
    points = np.unique(_outer(positions), axis=0).tolist()
    if len(points) < 3:
        return np.array(points).reshape(-1, 2)
    lower, upper = _chain(points), _chain(points[::-1])
    return np.array(lower[:-1] + upper[:-1])


def convex_hull_area(positions: Floats) -> float:
    """Return the area in m^2 of the convex hull of `positions` (N, 2), by the shoelace formula."""
    hull = convex_hull(positions)
    if len(hull) < 3:
        return 0.0
    # Relative to a corner: far from the origin the products would cancel and lose digits.
    x, y = (hull - hull[0]).T
    return 0.5 * float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())


def _outer(positions: Floats) -> Floats:
    """Leave out points that lie well inside the polygon of the extreme points in some directions."""
    angles = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    heights = positions[:, 0, None] * trig.cos(angles) + positions[:, 1, None] * trig.sin(angles)
    corners = positions[heights.argmax(axis=0)]
    inside_mask = np.ones(len(positions), bool)
    for begin, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if (begin == end).all():
            continue
        way = end - begin
        # Strictly inside only: the extreme points themselves must stay.
        inside_mask &= way[0] * (positions[:, 1] - begin[1]) - way[1] * (positions[:, 0] - begin[0]) > 0.0
    return positions[~inside_mask]


def _chain(points: list[list[float]]) -> list[list[float]]:
    chain: list[list[float]] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0.0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


class ConvexHull(CrowdMetric):
    """The area of the convex hull of the agents' middles, in m^2; see `convex_hull_area`."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return convex_hull_area(crowd.positions)
