"""Lidars with many layers: rays in all directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import ConfigError
from fleet_sim.sensors import ranging
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.rays import cast_in_frames
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig

_QUARTER = 0.5 * math.pi


@dataclass(frozen=True)
class Lidar3dParams(SensorParams):
    """A lidar of `layers`, from the lowest to the highest, with `rays` each, counter-clockwise.

    Its frame's z axis is that of its rotation. A full turn is divided evenly; otherwise both ends have a ray.
    """

    default_name: ClassVar[str] = "points"

    rays: int = setting(180, low=1, high=10_000, doc="Number of rays per layer.")
    layers: int = setting(16, low=1, high=1_000, doc="Number of layers.")
    angle_min: float = setting(
        -math.pi, low=-ranging.FULL_TURN, high=ranging.FULL_TURN, unit="rad", doc="Azimuth of the first ray of a layer."
    )
    angle_max: float = setting(
        math.pi,
        low=-ranging.FULL_TURN,
        high=ranging.FULL_TURN,
        unit="rad",
        doc="Azimuth where the field of view ends.",
    )
    elevation_min: float = setting(
        -0.26, low=-_QUARTER, high=_QUARTER, unit="rad", doc="Elevation of the lowest layer."
    )
    elevation_max: float = setting(
        0.26, low=-_QUARTER, high=_QUARTER, unit="rad", doc="Elevation of the highest layer."
    )
    range_min: float = ranging.range_min_setting()
    range_max: float = ranging.range_max_setting(20.0)
    noise: float = ranging.noise_setting()
    relative_noise: float = ranging.relative_noise_setting()

    def __post_init__(self) -> None:
        super().__post_init__()
        ranging.check_span(self.angle_min, self.angle_max)
        ranging.check_limits(self.range_min, self.range_max)
        if self.elevation_min > self.elevation_max:
            raise ConfigError(
                f"must be at most elevation_max ({self.elevation_max:g}), got {self.elevation_min:g}",
                path="elevation_min",
            )

    @property
    def directions(self) -> Floats:
        """Unit vectors (layers * rays, 3) along the rays in the sensor's frame, layer by layer."""
        angles = self.angle_min + ranging.ray_step(self.angle_min, self.angle_max, self.rays) * np.arange(self.rays)
        elevations = np.linspace(self.elevation_min, self.elevation_max, self.layers)
        out = np.empty((self.layers, self.rays, 3))
        # Spherical coordinates, with the elevation counted from the xy plane.
        (rise, reach), (sines, cosines) = trig.sin_cos(elevations), trig.sin_cos(angles)
        out[..., 0] = reach[:, None] * cosines
        out[..., 1] = reach[:, None] * sines
        out[..., 2] = rise[:, None]
        return out.reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Lidar3dReading(Reading):
    """A reading of a multi-layer lidar.

    `ranges` (layers, rays) in m: inf where there is nothing up to `range_max`, -inf where something is nearer than
    `range_min`. `points` (layers, rays, 3) in the sensor's frame, NaN where there is no range.
    """

    ranges: Floats
    points: Floats


class Lidar3d(SensorKind):
    """Casts the rays of lidars with layers, a few sensors in each step."""

    params_class = Lidar3dParams
    reading_class = Lidar3dReading
    spread = True

    def sense(self, batch: Batch) -> dict[str, Any]:
        """Return ranges (N, layers, rays) and points (N, layers, rays, 3)."""
        params: Lidar3dParams = batch.params
        rays = params.directions
        count = len(batch)
        hits, _ = cast_in_frames(self, batch, rays, params.range_max)
        ranges = ranging.measured(batch, hits.ranges.reshape(count, len(rays)), params)
        # Made from the measured ranges, so that points and ranges carry the same noise.
        points = np.where(np.isfinite(ranges), ranges, np.nan)[..., None] * rays
        shape = (count, params.layers, params.rays)
        return {"ranges": ranges.reshape(shape), "points": points.reshape(*shape, 3)}
