"""A PID controller for many signals at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import AnyArray, Floats
from fleet_sim.settings import Checked, setting


@dataclass(frozen=True)
class PID(Checked):
    """Gains and limits of a PID controller."""

    p: float = setting(0.0, doc="Proportional gain.")
    i: float = setting(0.0, doc="Integral gain.")
    d: float = setting(0.0, doc="Derivative gain.")
    imax: float | None = setting(None, doc="Limit of the magnitude of the integral term; null: none.")
    min: float | None = setting(None, doc="Lower limit of the output; null: none.")
    max: float | None = setting(None, doc="Upper limit of the output; null: none.")

    def output(self, errors: Floats, memory: AnyArray, dt: float) -> Floats:
        """Return the outputs (N,) for `errors` (N,), one step of `dt` s after the last call.

        `memory` (N, 2) holds the i term and the last error, NaN before the first; it is updated in place.
        """
        integral, last = memory[:, 0], memory[:, 1]
        integral += self.i * errors * dt
        if self.imax is not None:
            # Against windup: a long error must not have to be unlearnt as long.
            np.clip(integral, -abs(self.imax), abs(self.imax), out=integral)
        # Without a last error there is no derivative: the first call makes no jump.
        change = np.where(np.isnan(last), 0.0, errors - last) / dt
        last[:] = errors
        out = self.p * errors + integral + self.d * change
        low, high = -np.inf if self.min is None else self.min, np.inf if self.max is None else self.max
        return np.asarray(np.minimum(np.maximum(out, low), high))
