"""What rays of `sim.queries` met."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.core.world import World


@dataclass(frozen=True, eq=False)
class RayHits:
    """The first hits of N rays, ray by ray.

    `distances` (N,) in m, infinite for nothing; `points` and unit `normals` (N, 3) in the world, NaN for nothing;
    `object_ids` and `links` (N,), -1 for nothing and for the floor, where links count from -1, the base.
    """

    distances: Floats
    points: Floats
    normals: Floats
    object_ids: Ints
    links: Ints
    _rows: Rows
    _world: World

    @cached_property
    def hit_mask(self) -> Bools:
        """Which rays (N,) met anything."""
        return np.isfinite(self.distances)

    @property
    def entities(self) -> list[Any]:
        """The entities met (N), None for nothing and for the floor."""
        return [None if row < 0 else self._world.handles[row] for row in self._rows.tolist()]

    def __len__(self) -> int:
        return len(self.distances)
