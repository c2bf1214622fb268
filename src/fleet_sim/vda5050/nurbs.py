"""Points on the curves of trajectories: NURBS, evaluated at many places at once."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.vda5050.order import EdgeTrajectory

FINEST = 512
"""Points of a curve, at most."""


def curve_points(curve: EdgeTrajectory, tolerance: float) -> Floats:
    """Return points (K, 2) on the curve, ends included, so dense that no line between two is off by `tolerance` m."""
    if curve.degree == 1:
        # Straight lines between the control points, whatever the weights.
        return np.array([point[:2] for point in curve.points])
    count = 16
    while True:
        points = _evaluated(curve, np.linspace(curve.knots[curve.degree], curve.knots[-curve.degree - 1], count + 1))
        # Each second point against the line between its neighbours: four times as far off as the finer lines are.
        middle = 0.5 * (points[:-2:2] + points[2::2])
        gaps = np.sqrt(((points[1::2] - middle) ** 2).sum(axis=1))
        if gaps.max(initial=0.0) <= tolerance or count >= FINEST:
            return points
        count *= 2


def _evaluated(curve: EdgeTrajectory, places: Floats) -> Floats:
    """Return the points (N, 2) at `places` (N,), by de Boor's scheme in homogeneous coordinates."""
    degree, knots = curve.degree, np.array(curve.knots)
    given = np.array(curve.points)
    weighted = np.column_stack((given[:, :2] * given[:, 2:], given[:, 2]))
    # The knot span of each place; the last place belongs to the last span that is not empty.
    last = len(weighted) - 1
    span = np.clip(np.searchsorted(knots, places, side="right") - 1, degree, last)
    level = [weighted[span - degree + index] for index in range(degree + 1)]
    for step in range(1, degree + 1):
        for index in range(degree, step - 1, -1):
            low = knots[span - degree + index]
            width = knots[span + 1 + index - step] - low
            share = np.where(width > 0.0, (places - low) / np.where(width > 0.0, width, 1.0), 0.0)[:, None]
            level[index] = (1.0 - share) * level[index - 1] + share * level[index]
    points: Floats = level[degree][:, :2] / level[degree][:, 2:]
    return points
