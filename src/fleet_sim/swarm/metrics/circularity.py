"""How well one circle fits the agents in one step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.circle_fit import Circle, hyper, least_squares, pratt, root_mean_square, taubin
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric, ScaledMetric
from fleet_sim.swarm.parameters import choice_setting, documented

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


@documented
@dataclass(eq=False, repr=False)
class Circularity(CrowdMetric):
    """How well one circle fits the agents: 1 is a circle; see `circularity`. Headings and speeds do not count."""

    fit: str = choice_setting("least_squares", tuple(FITS), "How the circle is fitted.")

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return circularity(crowd.positions, FITS[self.fit])


class InstantCircularity(ScaledMetric):
    """Base of RobotSwarmSimulator's quantities of this name, one per fit; see `instant_circularity`."""

    @staticmethod
    @abstractmethod
    def fit_circle(positions: Floats) -> Circle | None:
        """Return the circle that fits `positions` (N, 2), or None."""

    def unscaled(self, crowd: Crowd) -> float:
        """Return the value before `scale`."""
        return instant_circularity(crowd.positions, self.fit_circle)


class InstantLSQCircularity(InstantCircularity):
    """`instant_circularity` of the least squares fit."""

    fit_circle = staticmethod(least_squares)


class InstantLMCircularity(InstantLSQCircularity):
    """`instant_circularity` of the least squares fit, found by Levenberg and Marquardt's method, as all here are."""


class InstantPrattSVDCircularity(InstantCircularity):
    """`instant_circularity` of Pratt's fit."""

    fit_circle = staticmethod(pratt)


class InstantTaubinSVDCircularity(InstantCircularity):
    """`instant_circularity` of Taubin's fit."""

    fit_circle = staticmethod(taubin)


class InstantHyperLSQCircularity(InstantCircularity):
    """`instant_circularity` of Pratt's fit, with the root mean square distance as radius."""

    fit_circle = staticmethod(root_mean_square)


class InstantHyperSVDCircularity(InstantCircularity):
    """`instant_circularity` of the hyperaccurate fit."""

    fit_circle = staticmethod(hyper)
