"""Planar lidars of the whole fleet in one call."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.sensors.fans import Fan, Hits, Stations
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.outlines import outlines_of
from fleet_sim.sensors.ranging import (
    FULL_TURN,
    check_limits,
    check_span,
    measured,
    noise_setting,
    range_max_setting,
    range_min_setting,
    ray_step,
    relative_noise_setting,
)
from fleet_sim.sensors.raster import cast
from fleet_sim.sensors.rays import cast_in_frames
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.sensors.solids import solids_of
from fleet_sim.sensors.surfaces import surfaces_of
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig

LEVEL = 1e-3
"""Tilt in rad up to which the plane of a lidar counts as level: an error of 1 cm at a distance of 10 m."""


@dataclass(frozen=True)
class LidarParams(SensorParams):
    """A planar lidar: rays in the xy plane of its frame, from `angle_min` to `angle_max`, counter-clockwise.

    The rays of a full turn are spaced evenly, so the last ray is one step before the first; otherwise both ends have a
    ray.
    """

    default_name: ClassVar[str] = "scan"

    rays: int = setting(360, low=1, high=100_000, doc="Number of rays.")
    angle_min: float = setting(-math.pi, low=-FULL_TURN, high=FULL_TURN, unit="rad", doc="Direction of the first ray.")
    angle_max: float = setting(
        math.pi, low=-FULL_TURN, high=FULL_TURN, unit="rad", doc="Direction of the end of the field of view."
    )
    range_min: float = range_min_setting()
    range_max: float = range_max_setting(10.0)
    noise: float = noise_setting()
    relative_noise: float = relative_noise_setting()
    intensities: bool = setting(False, doc="Read intensities: the cosine of the angle between ray and surface normal.")
    labels: bool = setting(False, doc="Read labels: the object id that each ray hits.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_span(self.angle_min, self.angle_max)
        check_limits(self.range_min, self.range_max)

    @property
    def angle_increment(self) -> float:
        """The angle in rad from one ray to the next."""
        return ray_step(self.angle_min, self.angle_max, self.rays)

    @property
    def angles(self) -> Floats:
        """The directions (rays,) of the rays in rad."""
        return self.fan.angles

    @property
    def fan(self) -> Fan:
        """The rays."""
        # A single ray has no increment; any positive one will do, and division by it stays defined.
        return Fan(self.angle_min, self.angle_increment or 1.0, self.rays, self.range_max)


@dataclass(frozen=True, eq=False)
class LidarReading(Reading):
    """A reading of a planar lidar, ray by ray (M,).

    `ranges` in m: inf where there is nothing up to `range_max`, -inf where something is nearer than `range_min`.
    `intensities` in [0, 1] and `labels`, object ids with -1 for nothing and for the floor, are None unless asked for.
    """

    ranges: Floats
    intensities: Floats | None
    labels: Ints | None


class Lidar(SensorKind):
    """Casts the rays of planar lidars: of level ones against outlines, unless intensities are asked for."""

    params_class = LidarParams
    reading_class = LidarReading

    def sense(self, batch: Batch) -> dict[str, Any]:
        """Return ranges (N, M), intensities and labels."""
        params: LidarParams = batch.params
        hits = see(self, batch, params.fan, details=params.intensities or params.labels, normals=params.intensities)
        ranges = measured(batch, hits.ranges, params)
        values: dict[str, Any] = {"ranges": ranges, "intensities": [None] * len(batch), "labels": [None] * len(batch)}
        if params.intensities and hits.cosines is not None:
            # Nothing was hit: no intensity.
            values["intensities"] = np.where(np.isfinite(ranges), hits.cosines, 0.0)
        if params.labels and hits.rows is not None:
            values["labels"] = _labels(self, hits.rows, ranges)
        return values


def _labels(kind: SensorKind, rows: Rows, ranges: Floats) -> Ints:
    # The floor, and nothing, have no object id.
    known_mask = (rows >= 0) & np.isfinite(ranges)
    return np.where(known_mask, kind.world.object_id[np.where(known_mask, rows, 0)], -1)


def see(kind: SensorKind, batch: Batch, fan: Fan, *, details: bool = False, normals: bool = False) -> Hits:
    """Return the hits of fans of rays in the xy planes of the sensors' frames, without noise.

    With `normals` cosines are those of the surfaces' normals in space, else of the normals of their outlines.
    """
    up, forward, senses = _directions(batch.orientations)
    # cos(t) is about 1 - t^2 / 2, so this compares the tilt with LEVEL without an arccosine.
    level_mask: Bools = (np.abs(np.abs(up) - 1.0) <= 0.5 * LEVEL * LEVEL) & (not normals)
    if level_mask.all():
        return _see_level(kind, batch, np.arange(len(batch)), forward, senses, fan, details=details)
    shape = (len(batch), fan.rays)
    hits = Hits(np.empty(shape), np.empty(shape, np.int64), np.empty(shape))
    level, tilted = np.flatnonzero(level_mask), np.flatnonzero(~level_mask)
    # Rays in all directions always tell rows and cosines, so the level ones do too: both fill one result.
    parts = [(tilted, _see_tilted(kind, batch, tilted, fan))]
    if len(level):
        parts.append((level, _see_level(kind, batch, level, forward, senses, fan, details=True)))
    for members, part in parts:
        for name, values in part._asdict().items():
            getattr(hits, name)[members] = values
    return hits


def _directions(orientations: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the z components (N,) of the z axes, the directions (2, N) of the x axes, and the rotation senses (N,)."""
    x, y, z, w = np.ascontiguousarray(orientations.T)
    up = 1.0 - 2.0 * (x * x + y * y)
    forward = np.stack((1.0 - 2.0 * (y * y + z * z), 2.0 * (w * z + x * y)))
    return up, forward, np.where(up < 0.0, -1.0, 1.0)


def _see_level(
    kind: SensorKind, batch: Batch, members: Ints, forward: Floats, senses: Floats, fan: Fan, *, details: bool
) -> Hits:
    """Return what level lidars see: their rays stay in one plane, so that outlines are enough."""
    x, y, z = np.ascontiguousarray(batch.positions[members].T)
    along_x, along_y = forward[:, members]
    # A slight tilt shortens the horizontal part of the x axis.
    lengths = np.sqrt(along_x * along_x + along_y * along_y)
    stations = Stations(batch.rows[members], x, y, z, along_x / lengths, along_y / lengths, senses[members])
    outlines = outlines_of(solids_of(kind.world), surfaces_of(kind.world), z)
    return cast(stations, fan, outlines, details=details, compiled=kind.world.compiled)


def _see_tilted(kind: SensorKind, batch: Batch, members: Ints, fan: Fan) -> Hits:
    """Cast the rays of sensors whose plane is not level."""
    sines, cosines = trig.sin_cos(fan.angles)
    rays = np.stack((cosines, sines, np.zeros(fan.rays)), axis=1)
    tilted = replace(
        batch,
        sensors=[batch.sensors[member] for member in members.tolist()],
        rows=batch.rows[members],
        positions=batch.positions[members],
        orientations=batch.orientations[members],
    )
    found, directions = cast_in_frames(kind, tilted, rays, fan.reach)
    shape = (len(members), fan.rays)
    cosines = np.abs((found.normals * directions).sum(axis=1))
    return Hits(found.ranges.reshape(shape), found.rows.reshape(shape), cosines.reshape(shape))
