"""A PID controller for many signals at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Floats, as_float
from fleet_sim.errors import ConfigError, InvalidValueError, did_you_mean


@dataclass(frozen=True)
class PID:
    """Gains and limits: `p`, `i`, `d`; `imax` limits the size of the i term; `min` and `max` limit the output."""

    p: float = 0.0
    i: float = 0.0
    d: float = 0.0
    imax: float | None = None
    min: float | None = None
    max: float | None = None

    @classmethod
    def read(cls, value: PID | Mapping[str, Any] | None, what: str) -> PID:
        """Return a PID from its parameters by name; raises ConfigError for an unknown one, else InvalidValueError."""
        if isinstance(value, PID):
            return value
        if value is not None and not isinstance(value, Mapping):
            raise InvalidValueError(f"{what}: expected a mapping with p, i, d, imax, min, max, got {value!r}")
        given = dict(value or {})
        for name in given:
            if name not in cls.__dataclass_fields__:
                raise ConfigError(
                    f"unknown key {name!r}.{did_you_mean(str(name), cls.__dataclass_fields__)}", path=what
                )
        numbers = {
            name: None if number is None else as_float(number, f"{what}: {name}") for name, number in given.items()
        }
        return cls(**numbers)  # type: ignore[arg-type]

    def output(self, errors: Floats, memory: AnyArray, dt: float) -> Floats:
        """Return the outputs (N,) for `errors` (N,), one step of `dt` s after the last call.

        `memory` (N, 2) holds the i term and the last error, NaN before the first; it is updated in place.
        """
        integral, last = memory[:, 0], memory[:, 1]
        integral += self.i * errors * dt
        if self.imax is not None:
            np.clip(integral, -abs(self.imax), abs(self.imax), out=integral)
        change = np.where(np.isnan(last), 0.0, errors - last) / dt
        last[:] = errors
        out = self.p * errors + integral + self.d * change
        low, high = -np.inf if self.min is None else self.min, np.inf if self.max is None else self.max
        return np.asarray(np.minimum(np.maximum(out, low), high))
