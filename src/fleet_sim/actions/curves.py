"""Curves of joints through points in time."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.saved_classes import saved

SHORTEST = 1e-9
"""Minimum duration of a piece between two points, in seconds."""


@saved
class JointCurves:
    """The curves of K joints through P points: cubics if velocities are given, otherwise straight lines.

    `coefficients` (P - 1, 4, K) are those of each piece, for u from 0 to 1 within its time.
    """

    def __init__(self, times: Floats, positions: Floats, velocities: Floats | None) -> None:
        """`times` (P,) in s, P >= 2; `positions` and `velocities` (P, K)."""
        self.times = times
        self.positions = positions
        # Two points at one time would divide by 0.
        self.spans = np.maximum(np.diff(times), SHORTEST)
        begin, rise = positions[:-1], np.diff(positions, axis=0)
        if velocities is None:
            none = np.zeros_like(rise)
            self.coefficients = np.stack([begin, rise, none, none], axis=1)
        else:
            first, last = velocities[:-1] * self.spans[:, None], velocities[1:] * self.spans[:, None]
            # Cubic Hermite: positions and velocities at both ends, the latter scaled from time to u.
            pieces = [begin, first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise]
            self.coefficients = np.stack(pieces, axis=1)

    def piece(self, at: float) -> int:
        """Return the number of the piece at time `at`; outside, the first or last one."""
        # Before the first point and after the last there is no other piece to take.
        index = int(np.searchsorted(self.times, at, side="right")) - 1
        return min(max(index, 0), len(self.spans) - 1)

    def sample(self, at: float) -> tuple[Floats, Floats]:
        """Return position and velocity (K,) at time `at`; outside the joints are at rest."""
        if at <= self.times[0] or at >= self.times[-1]:
            # What is asked for at an end gets the point itself, without rounding.
            place = self.positions[0] if at <= self.times[0] else self.positions[-1]
            return place, np.zeros_like(place)
        index = self.piece(at)
        u = (at - float(self.times[index])) / float(self.spans[index])
        c0, c1, c2, c3 = self.coefficients[index]
        position: Floats = c0 + u * (c1 + u * (c2 + u * c3))
        velocity: Floats = (c1 + u * (2.0 * c2 + u * 3.0 * c3)) / float(self.spans[index])
        return position, velocity

    def top_speeds(self) -> Floats:
        """Return the maximum speed (K,) on the curves."""
        c1, c2, c3 = self.coefficients[:, 1], self.coefficients[:, 2], self.coefficients[:, 3]
        # The speed is a parabola in u, so it is largest at an end or at its vertex.
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(c3 != 0.0, np.clip(-c2 / (3.0 * c3), 0.0, 1.0), 0.0)
        rates = [np.abs(c1 + u * (2.0 * c2 + u * 3.0 * c3)) for u in (0.0, 1.0, vertex)]
        speeds: Floats = (np.max(rates, axis=0) / self.spans[:, None]).max(axis=0)
        return speeds
