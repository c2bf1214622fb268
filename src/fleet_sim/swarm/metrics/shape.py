"""Metrics of the shape of a crowd: circles through its agents, their convex hull and triangulation.

N. Chernov, "Circular and Linear Regression: Fitting Circles and Lines by Least Squares" (2010), chapters 4 and 5. The
algebraic fits minimise the same sum under different constraints. For points about a whole circle all fits agree; from a
short arc with noise Pratt's and Taubin's are nearly unbiased, and `hyper` has no essential bias.
No circle fits fewer than three points, points on one line, and points that a line fits better than any circle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, as_whole
from fleet_sim.base.errors import of_extra
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.swarm.agent_columns import Crowd
from fleet_sim.swarm.metrics.crowd import CrowdMetric, ScaledMetric, centred, metric_of
from fleet_sim.swarm.parameters import choice_setting, configured

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


# How well one circle fits the agents in one step.


Fit = Callable[[Floats], Circle | None]

FITS: dict[str, Fit] = {"least_squares": least_squares, "taubin": taubin, "pratt": pratt, "hyper": hyper}
"""The ways to fit a circle by the names that settings have for them."""


def circularity(positions: Floats, fit: Fit = least_squares) -> float:
    """Return 1 - s/r, with the radius r of the circle that fits `positions` (N, 2) and the residual s of the fit.

    s is the root mean square of the distances from the circle: 1 is a circle. NaN where no circle fits: for fewer than
    three agents, all on one line, or nearer to a line than to any circle.
    """
    circle = fit(positions)
    return float("nan") if circle is None else 1.0 - circle.residual(positions) / circle.radius


def instant_circularity(positions: Floats, fit: Fit) -> float:
    """Return sqrt(sum |x_i - N c|^2) / r, with the circle of middle c and radius r that fits `positions` (N, 2).

    What RobotSwarmSimulator computes. It depends on where the origin is, so use `circularity` for anything new. NaN
    where no circle fits.
    """
    circle = fit(positions)
    if circle is None:
        return float("nan")
    # N c in place of c is RobotSwarmSimulator's own formula; its files expect its numbers.
    return float(np.linalg.norm(positions - len(positions) * np.array([circle.x, circle.y])) / circle.radius)


@configured
class Circularity(CrowdMetric):
    """How well one circle fits the agents: 1 is a circle; see `circularity`. Headings and speeds do not count."""

    fit: str = choice_setting("least_squares", tuple(FITS), "How the circle is fitted.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return circularity(crowd.positions, FITS[self.fit])


def _instant(name: str, fit: Fit, what: str) -> type[Any]:
    """Return the class of RobotSwarmSimulator: `instant_circularity` of a fit."""
    formula = partial(instant_circularity, fit=fit)
    return metric_of(f"Instant{name}Circularity", formula, ScaledMetric, f"`instant_circularity` of {what}.")


_LM = "the least squares fit, found by Levenberg and Marquardt's method, as all here are"
_LSQ = "Pratt's fit, with the root mean square distance as radius"
InstantLSQCircularity = _instant("LSQ", least_squares, "the least squares fit")
InstantLMCircularity = _instant("LM", least_squares, _LM)
InstantPrattSVDCircularity = _instant("PrattSVD", pratt, "Pratt's fit")
InstantTaubinSVDCircularity = _instant("TaubinSVD", taubin, "Taubin's fit")
InstantHyperLSQCircularity = _instant("HyperLSQ", root_mean_square, _LSQ)
InstantHyperSVDCircularity = _instant("HyperSVD", hyper, "the hyperaccurate fit")


# How well the agents go round on one circle.


def fatness(positions: Floats) -> float:
    """Return 1 - min|x_i - c|^2 / max|x_i - c|^2, with the centroid c of `positions` (N, 2): 0 on a circle, 1 filled.

    Taylor, Luzzi and Nowzari, "The impact of catastrophic collisions and collision avoidance on a swarming behavior"
    (2021), equation 6. Agents that are all in one place have fatness 1.
    """
    _, distances = centred(positions)
    largest = float(distances.max())
    # All agents in one place are no circle.
    return 1.0 - float(distances.min()) ** 2 / largest**2 if largest > 0.0 else 1.0


def roundness(positions: Floats) -> float:
    """Return 1 - `fatness` of `positions` (N, 2)."""
    return 1.0 - fatness(positions)


def tangentness(positions: Floats, headings: Floats) -> float:
    """Return 1/N sum |cos(h_i - b_i)|, with headings h_i (N,) and bearings b_i from the centroid of `positions` (N, 2).

    0 where all go around the centroid, 1 where all go towards or away from it. Taylor, Luzzi and Nowzari (2021), as for
    `fatness`.
    """
    offsets, _ = centred(positions)
    # Both ways round count alike.
    return float(np.abs(trig.cos(headings - trig.arctan2(offsets[:, 1], offsets[:, 0]))).mean())


Fatness = metric_of("Fatness", fatness)


Fatness2 = metric_of("Fatness2", roundness, ScaledMetric)


Tangentness = metric_of("Tangentness", tangentness)


@configured
class Circliness(CrowdMetric):
    """1 - max(mean fatness, mean tangentness), each over the last `avg_history_max` steps: 1 is perfect milling.

    Taylor, Luzzi and Nowzari, "The impact of catastrophic collisions and collision avoidance on a swarming behavior"
    (2021).
    """

    avg_history_max: int = setting(100, low=1, unit="steps", doc="Number of steps of the two means.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._recent: deque[tuple[float, float]] = deque(maxlen=self.avg_history_max)

    def __setattr__(self, name: str, value: object) -> None:
        """Take the two means over as many steps as `avg_history_max` says, also where it is set later."""
        if name == "avg_history_max" and "_recent" in vars(self):
            value = as_whole(value, name, low=1)
            self._recent = deque(self._recent, maxlen=value)
        super().__setattr__(name, value)

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        positions = crowd.positions
        self._recent.append((fatness(positions), tangentness(positions, crowd.headings)))
        return 1.0 - float(np.mean(self._recent, axis=0).max())

    def reset(self) -> None:
        """Forget the history."""
        super().reset()
        self._recent.clear()


# The Delaunay triangulation of points in the plane.


def delaunay_edges(positions: Floats) -> Ints:
    """Return the sides (E, 2), as indices in order, of the Delaunay triangulation of `positions` (N, 2).

    There are none for fewer than three points, or all on one line; of points in one place all but the first are left
    out. Where four points or more lie on one circle, any of the triangulations that are right. Raises
    MissingDependencyError without SciPy.
    """
    with of_extra("scipy", "swarm", "the metric 'delaunay_diffusion'"):
        from scipy.spatial import Delaunay, QhullError
    # Equal points would make triangles without area; one of each stands for all.
    keep = np.sort(np.unique(positions, axis=0, return_index=True)[1])
    try:
        triangles = Delaunay(positions[keep]).simplices
    except (QhullError, ValueError):
        return np.empty((0, 2), np.int64)
    sides = np.sort(np.concatenate((triangles[:, :2], triangles[:, 1:], triangles[:, ::2])), axis=1)
    edges: Ints = keep[np.unique(sides, axis=0)]
    return edges


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


DelaunayDiffusion = metric_of("DelaunayDiffusion", delaunay_diffusion)


# How much ground the swarm covers.


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


ConvexHull = metric_of("ConvexHull", convex_hull_area)
