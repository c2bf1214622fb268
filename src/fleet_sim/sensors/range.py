"""Range finders: the distance to the nearest thing in a field of view."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.sensors.fans import Fan
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.lidar import see
from fleet_sim.sensors.ranging import (
    check_limits,
    measured,
    noise_setting,
    range_max_setting,
    range_min_setting,
    relative_noise_setting,
)
from fleet_sim.sensors.rays import cast_in_frames
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig

_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True)
class RangeParams(SensorParams):
    """A range finder that looks along the x axis of its frame."""

    default_name: ClassVar[str] = "range"

    field_of_view: float = setting(0.5, low=0, high=2.0 * math.pi, unit="rad", doc="Full opening angle.")
    shape: Literal["fan", "cone"] = setting("fan", doc="fan: in the xy plane of its frame; cone: about its x axis.")
    rays: int = setting(15, low=1, high=10_000, doc="Number of rays that sample the field of view.")
    range_min: float = range_min_setting()
    range_max: float = range_max_setting(4.0)
    noise: float = noise_setting()
    relative_noise: float = relative_noise_setting()
    radiation: Literal["ultrasound", "infrared"] = setting(
        "ultrasound", doc="Radiation type in the ROS message; it does not change the reading."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self.range_min, self.range_max)

    @property
    def fan(self) -> Fan:
        """The rays of a fan."""
        if self.rays == 1:
            return Fan(0.0, 1.0, 1, self.range_max)
        step = self.field_of_view / (self.rays - 1)
        return Fan(-0.5 * self.field_of_view, step or 1e-9, self.rays, self.range_max)

    @property
    def directions(self) -> Floats:
        """Unit vectors (rays, 3) of a cone in the sensor's frame: evenly spread, the first along its axis."""
        indices = np.arange(self.rays)
        rise = 1.0 - trig.sin_cos_of(0.5 * min(self.field_of_view, 2.0 * math.pi))[1]
        # Equal steps along the axis cut the cone into bands of equal area (Archimedes), so rays are evenly dense.
        along = 1.0 - rise * indices / max(1, self.rays - 1)
        across = np.sqrt(np.maximum(1.0 - along * along, 0.0))
        sines, cosines = trig.sin_cos(_GOLDEN_ANGLE * indices)
        return np.stack((along, across * cosines, across * sines), axis=1)


@dataclass(frozen=True, eq=False)
class RangeReading(Reading):
    """The distance `range` in m to the nearest thing: inf up to `range_max`, -inf nearer than `range_min`."""

    range: float


class Range(SensorKind):
    """Reads range finders: fans as lidars, cones by rays in all directions."""

    params_class = RangeParams
    reading_class = RangeReading

    def sense(self, batch: Batch) -> dict[str, Floats]:
        """Return ranges (N,)."""
        params: RangeParams = batch.params
        distances = see(self, batch, params.fan).ranges if params.shape == "fan" else self._in_cones(batch, params)
        # The nearest ray first, then noise: noise on each ray would make the minimum too small.
        return {"range": measured(batch, distances.min(axis=1, keepdims=True), params)[:, 0]}

    def _in_cones(self, batch: Batch, params: RangeParams) -> Floats:
        hits, _ = cast_in_frames(self, batch, params.directions, params.range_max)
        return hits.ranges.reshape(len(batch), params.rays)
