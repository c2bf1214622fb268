"""Detects motors that make no progress towards their targets."""

from __future__ import annotations

import math
from typing import NamedTuple

from fleet_sim.saved_classes import saved

STALL_TIME = 1.0
"""Seconds without progress after which motors count as stalled."""
STALL_PROGRESS = 1e-4
"""Change in rad or m that counts as progress."""


@saved
class BestDistance(NamedTuple):
    """The smallest total distance (rad or m) of the joints from their targets so far, and its time."""

    distance: float = math.inf
    time: float = 0.0

    def after(self, distance: float, now: float) -> BestDistance:
        """Return the updated record for the present `distance`."""
        return BestDistance(distance, now) if distance < self.distance - STALL_PROGRESS else self

    def stalled(self, now: float) -> bool:
        """Return whether the joints have made no progress for too long."""
        return now - self.time >= STALL_TIME
