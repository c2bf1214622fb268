"""What the bytes of an input decide: numbers, odd values, choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fleet_sim import Pose

NUMBERS = (0.0, 1.0, -1.0, 0.3, 2, 1e-12, 5e-324, 1e3, 1e6, -1e9, 1e12, 1e155, -1e308, float("inf"), float("nan"))
ODD = (None, "", "x", True, [], {}, object, (1, 2), b"a", 10**400, np.array([1.0]), np.nan, "robot", -1, 2**63)
TURNS = (
    (0, 0, 0, 1),
    (0, 0, 1, 0),
    (0, 0, 0, 0),
    (1e-170, 0, 0, 0),
    (1e155, 0, 0, 0),
    (0.5, 0.5, 0.5, 0.5),
    (0, 0, 0.1),
)


class Draw:
    """Values made of bytes; when they are used up, zeros."""

    def __init__(self, data: bytes) -> None:
        self._bytes: Iterator[int] = iter(data)
        self.is_empty = not data

    def byte(self) -> int:
        """Return the next byte."""
        value = next(self._bytes, None)
        self.is_empty = value is None
        return value or 0

    def choice(self, values: Any) -> Any:
        """Return one of `values`, None of none."""
        chosen = self.byte()
        return values[chosen % len(values)] if len(values) else None

    def number(self) -> Any:
        """Return a number: mostly a usual one, sometimes an extreme one, rarely something else."""
        kind = self.byte()
        if kind < 200:
            return (kind - 100) / 20.0
        return self.choice(NUMBERS) if kind < 248 else self.choice(ODD)

    def pose(self) -> Any:
        """Return a pose, or rarely something else; raises InvalidValueError where it cannot be made."""
        kind = self.byte()
        if kind >= 250:
            return self.choice(ODD)
        turn = self.choice(TURNS) if kind >= 128 else (0, 0, 0, 1)
        return Pose((self.number(), self.number(), self.number()), turn)
