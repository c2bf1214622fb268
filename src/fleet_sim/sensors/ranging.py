"""From true distances to what a ranging sensor reports."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.sensors.base import Batch
from fleet_sim.sensors.noise import normals


class RangingParams(Protocol):
    """What sensors that measure distances have in common."""

    @property
    def range_min(self) -> float:
        """What is nearer reads as -inf, in m."""

    @property
    def range_max(self) -> float:
        """What is further away reads as inf, in m."""

    @property
    def noise(self) -> float:
        """Standard deviation in m."""

    @property
    def relative_noise(self) -> float:
        """Standard deviation as a share of the distance."""


def measured(batch: Batch, distances: Floats, params: RangingParams) -> Floats:
    """Return what the sensors of `batch` report of true `distances` (N, M), infinite for nothing."""
    ranges = distances
    if params.noise or params.relative_noise:
        drawn = normals(batch.keys, batch.tick, distances.shape[1])
        hit_mask = np.isfinite(distances)
        true = np.where(hit_mask, distances, 0.0)
        spread = np.hypot(params.noise, params.relative_noise * true)
        ranges = np.where(hit_mask, true + spread * drawn, np.inf)
    near_mask = ranges < params.range_min
    far_mask = ranges > params.range_max
    return np.where(near_mask, -np.inf, np.where(far_mask, np.inf, ranges))
