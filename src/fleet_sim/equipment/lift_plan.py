"""LiftPlan: what does not change of a lift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.errors import unknown_name


class Entrance(NamedTuple):
    """A door of a lift: `middle` (2,) on the edge of the cabin, `outward` (2,) across it, `width` in m; world frame."""

    middle: Floats
    outward: Floats
    width: float


@dataclass(frozen=True, eq=False)
class LiftPlan:
    """The floors (F,) of a lift by name and height, and its doors.

    `doors[i]` are the leading leaves of the doors in front of the cabin on floor i, and of those of the cabin that open
    with them. `inner` are all leaves of the cabin, which move with it. `entrances[i]` is the widest door of floor i.
    Leaves are rows: one that was removed is in its row again after a reset. `Lifts.leaves` knows which live.
    """

    names: tuple[str, ...]
    heights: Floats
    doors: tuple[Rows, ...]
    inner: Rows
    entrances: tuple[Entrance, ...]

    def floor(self, name: str) -> int:
        """Return the number of the floor called `name`; raises UnknownNameError with the closest one."""
        if name not in self.names:
            raise unknown_name("floor", name, self.names)
        return self.names.index(name)

    def nearest(self, height: float) -> int:
        """Return the number of the floor that is the nearest to `height` in m."""
        return int(np.abs(self.heights - height).argmin())
