"""Circles through points: three algebraic fits, which need no start, and the geometric one, the least squares fit.

N. Chernov, "Circular and Linear Regression: Fitting Circles and Lines by Least Squares" (2010), chapters 4 and 5. The
algebraic fits minimise the same sum under different constraints. For points about a whole circle all fits agree; from a
short arc with noise Pratt's and Taubin's are nearly unbiased, and `hyper` has no essential bias.
No circle fits fewer than three points, points on one line, and points that a line fits better than any circle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig

MOST_ROUNDS = 100
"""Largest number of iterations; each fit needs a handful."""
FLAT = 1e-12
"""Points whose spread across their line is less than this share of that along it have no circle."""


class Circle(NamedTuple):
    """A circle in the plane, in m."""

    x: float
    y: float
    radius: float

    def distances(self, positions: Floats) -> Floats:
        """Return how far `positions` (N, 2) are from its middle (N,)."""
        distances: Floats = trig.hypot(positions[:, 0] - self.x, positions[:, 1] - self.y)
        return distances

    def residual(self, positions: Floats) -> float:
        """Return the root mean square of the distances of `positions` (N, 2) from the circle, in m."""
        return float(np.sqrt(np.mean((self.distances(positions) - self.radius) ** 2)))


def pratt(positions: Floats) -> Circle | None:
    """Return the fit of Pratt (1987) to `positions` (N, 2), or None where no circle fits."""
    return _algebraic(positions, is_taubin=False, radius_term=2.0)


def hyper(positions: Floats) -> Circle | None:
    """Return the fit of Al-Sharadqah and Chernov (2009), "hyperaccurate"; as `pratt`, with a smaller radius."""
    return _algebraic(positions, is_taubin=False, radius_term=-2.0)


def root_mean_square(positions: Floats) -> Circle | None:
    """Return the circle with the middle of Pratt's fit and the root mean square of the distances from it as radius."""
    return _algebraic(positions, is_taubin=False, radius_term=0.0)


def taubin(positions: Floats) -> Circle | None:
    """Return the fit of Taubin (1991) to `positions` (N, 2), or None where no circle fits."""
    return _algebraic(positions, is_taubin=True, radius_term=0.0)


def _algebraic(positions: Floats, *, is_taubin: bool, radius_term: float) -> Circle | None:
    """Return the circle at the least root of the characteristic polynomial of the moments.

    `radius_term` times the root is added to the square of the radius.
    """
    # About the centroid: far from the origin the fourth powers of moments would lose all digits.
    middle = positions.mean(axis=0)
    x, y = (positions - middle).T
    z = x * x + y * y
    xx, yy, xy = float(np.mean(x * x)), float(np.mean(y * y)), float(np.mean(x * y))
    xz, yz, zz = float(np.mean(x * z)), float(np.mean(y * z)), float(np.mean(z * z))
    mean_square = xx + yy
    spread = xx * yy - xy * xy
    if len(positions) < 3 or spread <= FLAT * mean_square**2:
        return None
    constant = xz * (xz * yy - yz * xy) + yz * (yz * xx - xz * xy) - (zz - mean_square**2) * spread
    first = zz * mean_square + 4.0 * spread * mean_square - xz**2 - yz**2 - mean_square**3
    second = -3.0 * mean_square**2 - zz
    if is_taubin:
        root = _least_root((4.0 * mean_square, second, first, constant))
    else:
        # Pratt's constraint adds a term of fourth degree to the same polynomial.
        root = _least_root((4.0, 0.0, second + 4.0 * spread, first, constant))
    across = root * root - root * mean_square + spread
    # The best of all circles is then a line.
    if abs(across) <= FLAT * mean_square**2:
        return None
    center_x = 0.5 * (xz * (yy - root) - yz * xy) / across
    center_y = 0.5 * (yz * (xx - root) - xz * xy) / across
    square = center_x**2 + center_y**2 + mean_square + radius_term * root
    return Circle(float(middle[0]) + center_x, float(middle[1]) + center_y, float(np.sqrt(max(square, 0.0))))


def _least_root(coefficients: tuple[float, ...]) -> float:
    """Return the least root of a polynomial that is at least 0, by Newton's method from 0, which climbs up to it."""
    slopes = np.polyder(np.array(coefficients))
    root, value = 0.0, abs(coefficients[-1])
    for _ in range(MOST_ROUNDS):
        slope = float(np.polyval(slopes, root))
        following = root - float(np.polyval(coefficients, root)) / slope if slope else root
        next_value = abs(float(np.polyval(coefficients, following)))
        # Rounding ends the climb: from there on, steps only wander.
        if following == root or next_value >= value:
            break
        root, value = following, next_value
    return max(root, 0.0)


def least_squares(positions: Floats) -> Circle | None:
    """Return the circle with the least sum of squared distances of `positions` (N, 2); None as for `taubin`.

    Levenberg and Marquardt's method over the middle, from Taubin's fit; the radius is the mean distance.
    """
    circle = taubin(positions)
    if circle is None:
        return None
    offsets = positions - positions.mean(axis=0)
    # The sum of squared distances from the line that fits best, and from the centroid.
    straight, across = np.linalg.eigvalsh(offsets.T @ offsets).tolist()
    spread = straight + across
    # Levenberg and Marquardt: little damping makes it a Newton step, much makes it a short step downhill.
    damping = 1e-3
    error, jacobian, gaps = _linearised(circle, positions)
    for _ in range(MOST_ROUNDS):
        normal = jacobian.T @ jacobian
        step = np.linalg.solve(normal + damping * np.trace(normal) * np.eye(2), jacobian.T @ gaps)
        moved = Circle(circle.x - float(step[0]), circle.y - float(step[1]), circle.radius)
        # For a given middle, the best radius is the mean distance: two unknowns are left, not three.
        moved = moved._replace(radius=float(moved.distances(positions).mean()))
        new_error, new_jacobian, new_gaps = _linearised(moved, positions)
        # Of a circle as large as that, the gaps are lost in rounding.
        if new_error < error and moved.radius * moved.radius * FLAT < spread:
            circle, error, jacobian, gaps = moved, new_error, new_jacobian, new_gaps
            damping *= 0.1
        else:
            damping *= 10.0
        if float(trig.hypot(*step)) < 1e-12 * circle.radius:
            break
    return circle if error < straight else None


def _linearised(circle: Circle, positions: Floats) -> tuple[float, Floats, Floats]:
    """Return the sum of squared gaps to the mean distance, its derivatives (N, 2), the gaps (N,)."""
    distances = circle.distances(positions)
    # At the middle itself there is no direction; such a point pulls nowhere.
    outward = (positions - [circle.x, circle.y]) / np.where(distances > 0.0, distances, 1.0)[:, None]
    gaps = distances - distances.mean()
    return float(gaps @ gaps), outward.mean(axis=0) - outward, gaps
