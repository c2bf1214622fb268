"""Lidars in one plane or in many layers, and range finders: what they report of true distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.request_budget import Work
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.sensing.sensors.occupancy import OCCUPIED, OccupancyGrid, outlines_of
from fleet_sim.sensing.sensors.planar_rays import Fan, Hits, Stations, cast
from fleet_sim.sensing.sensors.rays import cast_in_frames
from fleet_sim.sensing.sensors.sensor import RAYS, Batch, Reading, Sensor, SensorKind, SensorParams
from fleet_sim.sensing.sensors.solids import solids_of, surfaces_of
from fleet_sim.world.clock import normal_rows

# From true distances to what a ranging sensor reports.


FULL_TURN = 2.0 * math.pi


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


def measured(batch: Batch, distances: Floats, params: Any) -> Floats:
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


LEVEL_RAYS = 64
"""Rays in a level plane that take as long in Python as one in any direction."""
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
    def work(self) -> tuple[Work, float]:
        """The rays of a reading."""
        return RAYS, float(self.rays)

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

    With `details` they tell the entities, with `normals` the cosines to the surfaces' normals, too.
    """
    up, forward, senses = _directions(batch.orientations)
    # cos(t) is about 1 - t^2 / 2, so this compares the tilt with LEVEL without an arccosine.
    level_mask: Bools = (np.abs(np.abs(up) - 1.0) <= 0.5 * LEVEL * LEVEL) & (not normals)
    if level_mask.all():
        return _see_level(kind, batch, np.arange(len(batch)), forward, senses, fan, details=details)
    shape = (len(batch), fan.rays)
    level, tilted = np.flatnonzero(level_mask), np.flatnonzero(~level_mask)
    # Rays in all directions always tell rows, so the level ones do too: both fill one result.
    seen = _see_tilted(kind, batch, tilted, fan, normals=normals)
    if not len(level):
        return seen
    flat, rows = _see_level(kind, batch, level, forward, senses, fan, details=True), np.empty(shape, np.int64)
    ranges = np.empty(shape)
    assert seen.rows is not None and flat.rows is not None
    ranges[tilted], rows[tilted] = seen.ranges, seen.rows
    ranges[level], rows[level] = flat.ranges, flat.rows
    return Hits(ranges, rows, None)


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
    compiled = kind.world.casts_compiled(len(members) * fan.rays // LEVEL_RAYS)
    return cast(stations, fan, outlines, details=details, compiled=compiled)


def _see_tilted(kind: SensorKind, batch: Batch, members: Ints, fan: Fan, *, normals: bool) -> Hits:
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
    facing = np.abs((found.normals * directions).sum(axis=1)).reshape(shape) if normals else None
    return Hits(found.ranges.reshape(shape), found.rows.reshape(shape), facing)


# Lidars with many layers: rays in all directions.


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
        -math.pi, low=-FULL_TURN, high=FULL_TURN, unit="rad", doc="Azimuth of the first ray of a layer."
    )
    angle_max: float = setting(
        math.pi, low=-FULL_TURN, high=FULL_TURN, unit="rad", doc="Azimuth where the field of view ends."
    )
    elevation_min: float = setting(
        -0.26, low=-_QUARTER, high=_QUARTER, unit="rad", doc="Elevation of the lowest layer."
    )
    elevation_max: float = setting(
        0.26, low=-_QUARTER, high=_QUARTER, unit="rad", doc="Elevation of the highest layer."
    )
    range_min: float = range_min_setting()
    range_max: float = range_max_setting(20.0)
    noise: float = noise_setting()
    relative_noise: float = relative_noise_setting()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_span(self.angle_min, self.angle_max)
        check_limits(self.range_min, self.range_max)
        if self.elevation_min > self.elevation_max:
            raise ConfigError(
                f"must be at most elevation_max ({self.elevation_max:g}), got {self.elevation_min:g}",
                path="elevation_min",
            )

    @property
    def work(self) -> tuple[Work, float]:
        """The rays of a reading."""
        return RAYS, float(self.layers * self.rays)

    @property
    def directions(self) -> Floats:
        """Unit vectors (layers * rays, 3) along the rays in the sensor's frame, layer by layer."""
        angles = self.angle_min + ray_step(self.angle_min, self.angle_max, self.rays) * np.arange(self.rays)
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
        ranges = measured(batch, hits.ranges.reshape(count, len(rays)), params)
        # Made from the measured ranges, so that points and ranges carry the same noise.
        points = np.where(np.isfinite(ranges), ranges, np.nan)[..., None] * rays
        shape = (count, params.layers, params.rays)
        return {"ranges": ranges.reshape(shape), "points": points.reshape(*shape, 3)}


# Range finders: the distance to the nearest thing in a field of view.


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
    def work(self) -> tuple[Work, float]:
        """The rays of a reading."""
        return RAYS, float(self.rays)

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


# Pictures of what lidars see, over the map.


_FREE, _WALL, _BODY = (247.0, 247.0, 244.0), (70.0, 74.0, 82.0), (30.0, 32.0, 36.0)
_COLORS = ((31, 119, 220), (240, 130, 20), (30, 160, 80), (200, 50, 90), (130, 90, 200), (20, 160, 170))
_TINT = 0.22
_SAMPLES = 2
"""Supersampling factor: the picture is drawn larger by this factor and averaged, for smooth edges."""


def draw_scans(grid: OccupancyGrid, lidars: Sequence[Sensor], *, width: int = 800) -> Bytes:
    """Return a picture (H, `width`, 3) of the map, seen from above, x to the right and y up, with scans over it.

    Of each lidar its latest reading is drawn, in a color of its own: what it sees over, and where its rays end. One
    that was never read is read now. Raises InvalidValueError for another kind of sensor.
    """
    for lidar in lidars:
        if not isinstance(lidar.params, LidarParams):
            raise InvalidValueError(f"scans are drawn of planar lidars, got {lidar!r}")
    canvas = _Canvas(grid, _SAMPLES * width)
    for index, lidar in enumerate(lidars):
        reading = lidar.latest or lidar.read()
        canvas.draw_scan(lidar, np.asarray(reading.ranges), np.array(_COLORS[index % len(_COLORS)], np.float64))
    return canvas.picture()


class _Canvas:
    """Colors (H, W, 3) as floats, and the places of the pixels in the world: x (1, W) and y (H, 1), north up."""

    def __init__(self, grid: OccupancyGrid, width: int) -> None:
        lines, columns = grid.cells.shape
        self._scale = width / (columns * grid.resolution)
        height = _SAMPLES * max(1, round(lines * grid.resolution * self._scale / _SAMPLES))
        self.x = grid.origin[0] + ((np.arange(width) + 0.5) / self._scale)[None]
        self.y = grid.origin[1] + ((height - 0.5 - np.arange(height)) / self._scale)[:, None]
        column = np.minimum(((self.x[0] - grid.origin[0]) / grid.resolution).astype(np.int64), columns - 1)
        line = np.minimum(((self.y[:, 0] - grid.origin[1]) / grid.resolution).astype(np.int64), lines - 1)
        wall_mask = grid.cells[line[:, None], column] == OCCUPIED
        self.colors = np.where(wall_mask[..., None], _WALL, _FREE)

    def draw_scan(self, lidar: Sensor, ranges: Floats, color: Floats) -> None:
        """Tint what a lidar sees over, and mark where its rays end and where it is."""
        params: LidarParams = lidar.params
        pose = lidar.get_pose()
        x, y, _ = pose.position
        self._blend(self._seen_mask(params, pose.yaw, x, y, ranges), color, _TINT)
        hit_mask = np.isfinite(ranges)
        angles = pose.yaw + params.angles[hit_mask]
        ends = np.stack((x + ranges[hit_mask] * np.cos(angles), y + ranges[hit_mask] * np.sin(angles)), axis=1)
        for end in ends.tolist():
            self._dot(end, 2.6, color)
        self._dot([x, y], 9.0, np.array(_BODY))
        self._dot([x, y], 6.0, color)

    def _seen_mask(self, params: LidarParams, yaw: float, x: float, y: float, ranges: Floats) -> Bools:
        """Return which pixels (H, W) a lidar at x, y has seen across: those nearer than the ray next to them."""
        across, along = self.x - x, self.y - y
        distances = np.hypot(across, along)
        step = params.angle_increment or 1.0
        # Each pixel belongs to the ray nearest to its bearing, half a step to both sides.
        bearings = (np.arctan2(along, across) - yaw - params.angle_min + 0.5 * step) % (2.0 * math.pi)
        rays = (bearings / step).astype(np.int64)
        if params.angle_max - params.angle_min > 2.0 * math.pi - 1e-6:
            # In a full turn what is beyond the last ray is nearest to the first one.
            rays %= params.rays
        inside_mask = rays < params.rays
        # inf has seen over the whole range, -inf over nothing.
        reach = np.where(np.isfinite(ranges), ranges, np.where(ranges > 0.0, params.range_max, 0.0))
        seen_mask: Bools = inside_mask & (distances <= reach[np.where(inside_mask, rays, 0)])
        return seen_mask

    def _dot(self, place: Sequence[float], radius: float, color: Floats) -> None:
        """Color the pixels within `radius` m of a place; nothing where that is beside the picture."""
        size = radius / self._scale
        columns = np.flatnonzero(np.abs(self.x[0] - place[0]) <= size)
        lines = np.flatnonzero(np.abs(self.y[:, 0] - place[1]) <= size)
        if not len(columns) or not len(lines):
            return
        part = (slice(lines[0], lines[-1] + 1), slice(columns[0], columns[-1] + 1))
        near_mask = np.hypot(self.x[:, part[1]] - place[0], self.y[part[0]] - place[1]) <= size
        self.colors[part][near_mask] = color

    def _blend(self, mask: Bools, color: Floats, share: float) -> None:
        self.colors[mask] = (1.0 - share) * self.colors[mask] + share * color

    def picture(self) -> Bytes:
        """Return the pixels, averaged."""
        height, width, _ = self.colors.shape
        blocks = self.colors.reshape(height // _SAMPLES, _SAMPLES, width // _SAMPLES, _SAMPLES, 3)
        return np.round(blocks.mean(axis=(1, 3))).astype(np.uint8)
