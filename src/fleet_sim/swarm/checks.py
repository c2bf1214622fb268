"""Checks of single parameters of parts."""

from __future__ import annotations

import numpy as np

from fleet_sim.errors import InvalidValueError


def positive(value: object, what: str) -> int:
    """Return a whole number of at least 1; raises InvalidValueError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidValueError(f"{what}: expected a whole number of at least 1, got {value!r}")
    return int(value)
