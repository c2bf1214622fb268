"""From true distances to what a ranging sensor reports."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.random import normal_rows
from fleet_sim.errors import ConfigError
from fleet_sim.sensors.kind import Batch
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig

FULL_TURN = 2.0 * math.pi


class RangingParams(Protocol):
    """Parameters common to all sensors that measure distances."""

    @property
    def range_min(self) -> float:
        """Smallest range in m; nearer obstacles read as -inf."""

    @property
    def range_max(self) -> float:
        """Largest range in m; farther obstacles read as inf."""

    @property
    def noise(self) -> float:
        """Standard deviation in m."""

    @property
    def relative_noise(self) -> float:
        """Standard deviation as a share of the distance."""


def range_min_setting() -> Any:
    """Return the dataclass field of the smallest range."""
    return setting(0.0, low=0, unit="m", doc="Smallest range; nearer obstacles read as -inf.")


def range_max_setting(default: float) -> Any:
    """Return the dataclass field of the largest range, in m."""
    return setting(default, above=0, unit="m", doc="Largest range; it reads inf without an obstacle up to it.")


def noise_setting() -> Any:
    """Return the dataclass field of the part of the noise that does not depend on the range."""
    return setting(0.0, low=0, unit="m", doc="Standard deviation of a range.")


def relative_noise_setting() -> Any:
    """Return the dataclass field of the part of the noise that grows with the range."""
    return setting(0.0, low=0, doc="Standard deviation in proportion to the range, as a fraction of it.")


def check_limits(range_min: float, range_max: float) -> None:
    """Raise ConfigError unless the least range is below the largest."""
    if range_min >= range_max:
        raise ConfigError(f"must be below range_max ({range_max:g}), got {range_min:g}", path="range_min")


def check_span(angle_min: float, angle_max: float) -> None:
    """Raise ConfigError unless the angles are in order and at most a full turn apart."""
    if not 0.0 <= angle_max - angle_min <= FULL_TURN + 1e-9:
        raise ConfigError(
            f"must be at least angle_min and at most a full turn above it, got angle_min {angle_min:g} and angle_max "
            f"{angle_max:g}",
            path="angle_max",
        )


def ray_step(angle_min: float, angle_max: float, rays: int) -> float:
    """Return the angle from one ray to the next: a full turn has no ray twice, other fields have one at both ends."""
    span = angle_max - angle_min
    return span / (rays if span >= FULL_TURN - 1e-6 else max(1, rays - 1))


def measured(batch: Batch, distances: Floats, params: RangingParams) -> Floats:
    """Return the ranges that the sensors of `batch` report for true `distances` (N, M), inf where nothing is hit."""
    ranges = distances
    if params.noise or params.relative_noise:
        # Drawn for every ray, hit or not: the noise of a ray then depends on sensor, time and ray only.
        drawn = normal_rows(batch.keys, batch.tick, distances.shape[1])
        hit_mask = np.isfinite(distances)
        true = np.where(hit_mask, distances, 0.0)
        spread = trig.hypot(params.noise, params.relative_noise * true)
        ranges = np.where(hit_mask, true + spread * drawn, np.inf)
    # The limits apply to the noisy range, since that is what a device compares.
    near_mask = ranges < params.range_min
    far_mask = ranges > params.range_max
    limited = np.where(far_mask, np.inf, ranges)
    # Hardly anything is so near: looking is less than copying once more.
    return np.where(near_mask, -np.inf, limited) if near_mask.any() else limited
