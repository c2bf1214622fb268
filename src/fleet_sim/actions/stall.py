"""Noticing that motors get no nearer to where they should go."""

from __future__ import annotations

import math
from typing import NamedTuple

STALL_TIME = 1.0
"""Seconds for which motors may get no nearer to their targets before they count as unable to."""
STALL_PROGRESS = 1e-4
"""Rad or m that count as getting nearer."""


class Nearest(NamedTuple):
    """How near the joints have come to their targets, in rad or m in all, and when."""

    distance: float = math.inf
    time: float = 0.0

    def after(self, distance: float, now: float) -> Nearest:
        """Return what it is now that the joints are `distance` away."""
        return Nearest(distance, now) if distance < self.distance - STALL_PROGRESS else self

    def stalled(self, now: float) -> bool:
        """Return whether the joints have long come no nearer."""
        return now - self.time >= STALL_TIME
